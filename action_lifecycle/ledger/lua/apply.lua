-- Take in a batch of journal rows: all of them that are new, or none.
--
-- KEYS: events (stream), meta (hash), open (sorted set), the subject of each row (hash; meta for a
--   row that has none), then the subjects whose end a compaction has swallowed
-- ARGV: through (rows up to there may have gaps), time to live of an ended subject (s), number of
--   rows, then the 18 columns of each row
-- Returns {'ok', last seq} or {'gap' | 'chain' | 'state', seq of the row, what was found}.
local events, meta, open = KEYS[1], KEYS[2], KEYS[3]
local through, keep, rows = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local width = 18
local names = {'seq', 'kind', 'flow_id', 'action_id', 'attempt', 'event', 'from_state', 'to_state',
  'cause', 'actor', 'data_json', 'final', 'ros_time', 'boot_id', 'boot_time', 'wall_time',
  'prev_hash', 'hash'}

local cursor = redis.call('HMGET', meta, 'seq', 'hash')
local last, hash = tonumber(cursor[1] or 0), cursor[2] or ''
local anchoring = last < through
local first = rows + 1
local states = {}

-- Everything is checked before anything is written: a script is not undone.
for i = 1, rows do
  local at = 3 + (i - 1) * width
  local seq = tonumber(ARGV[at + 1])
  if seq > last then
    first = math.min(first, i)
    if seq == last + 1 then
      if ARGV[at + 17] ~= hash then
        return {'chain', seq, hash}
      end
    elseif not (last < through and seq <= through + 1) then
      return {'gap', seq, tostring(last)}
    end
    local subject = KEYS[3 + i]
    if ARGV[at + 2] == 'transition' then
      local state = states[subject] or redis.call('HGET', subject, 'to_state')
      if state and state ~= ARGV[at + 7] and ARGV[at + 7] ~= 'assigned' and not anchoring then
        return {'state', seq, state}
      end
      states[subject] = ARGV[at + 8]
    end
    last, hash = seq, ARGV[at + 18]
  end
end

for i = first, rows do
  local at = 3 + (i - 1) * width
  local fields = {}
  for column = 1, width do
    fields[2 * column - 1] = names[column]
    fields[2 * column] = ARGV[at + column]
  end
  redis.call('XADD', events, ARGV[at + 1] .. '-0', unpack(fields))
  local subject = KEYS[3 + i]
  if subject ~= meta then
    redis.call('HSET', subject, unpack(fields))
    if ARGV[at + 12] == '1' then
      redis.call('ZREM', open, subject)
      redis.call('EXPIRE', subject, keep)
    else
      redis.call('ZADD', open, 'NX', ARGV[at + 1], subject)
      redis.call('PERSIST', subject)
    end
  end
end
if first <= rows then
  redis.call('HSET', meta, 'seq', string.format('%.0f', last), 'hash', hash)
end
if anchoring then
  for i = 4 + rows, #KEYS do
    redis.call('ZREM', open, KEYS[i])
    redis.call('DEL', KEYS[i])
  end
end
return {'ok', last, ''}
