-- Take the oldest request that its worker has not renewed for some time.
--
-- XAUTOCLAIM would look only at the ten oldest requests, so one behind ten that are renewed would
-- wait until those are done. A request that was trimmed from its stream, and that no worker holds,
-- becomes a dead letter: it can't be claimed.
-- KEYS: stream, held requests that were trimmed (sorted set, see renew.lua), dead letters (stream)
-- ARGV: group, consumer, idle time (ms), reason in the dead letter, approximate maximum number of
--   dead letters
-- Returns its id and its fields in a list, or an empty list.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local first, page = '-', 20
while true do
  local lapsed = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], first, '+', page)
  for _, pending in ipairs(lapsed) do
    local id = pending[1]
    if redis.call('XRANGE', KEYS[1], id, id)[1] then
      return redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], id)
    end
    local fault = wrong_type(KEYS[2], 'zset') or wrong_type(KEYS[3], 'stream')
    if fault then
      return fault
    end
    local held = redis.call('ZSCORE', KEYS[2], ARGV[1] .. ' ' .. id)
    if not held or tonumber(held) <= now then
      redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'original_stream', KEYS[1],
        'original_id', id, 'trace_id', id, 'error', ARGV[4], 'attempt', pending[4],
        'data', '{}', 'time', clock[1] .. string.format('.%06d', clock[2]))
      redis.call('XACK', KEYS[1], ARGV[1], id)
    end
    first = '(' .. id
  end
  if #lapsed < page then
    return {}
  end
end
