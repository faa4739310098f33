-- Common to the scripts of an operation, put before each of them.
--
-- KEYS: trace (hash), checkpoint (hash), result (string); where keys may be in different slots,
--   then the same three under their tagged names, the index of all operations, and that of the
--   active ones (sorted sets of trace ids, by the time (s) at which the trace expires)
local trace, checkpoint, result, all, active = KEYS[1], KEYS[2], KEYS[3], KEYS[7], KEYS[8]
if KEYS[4] and redis.call('EXISTS', trace) == 0 and redis.call('EXISTS', KEYS[4]) == 1 then
  trace, checkpoint, result = KEYS[4], KEYS[5], KEYS[6]
end
local fault = wrong_type(trace, 'hash') or wrong_type(checkpoint, 'hash')
  or wrong_type(result, 'string')
if fault then
  return fault
end
local clock = redis.call('TIME')
local now = clock[1] .. string.format('.%06d', clock[2])

-- List the operation for as long as its trace exists; the final state is not active. An index that
-- something else has changed must not prevent the change of an operation: hence pcall.
local function index(id, state)
  if not all then
    return
  end
  local left = redis.call('TTL', trace)
  local expires = left < 0 and '+inf' or clock[1] + left
  for _, key in ipairs({all, active}) do
    redis.pcall('ZREMRANGEBYSCORE', key, '-inf', '(' .. clock[1])
  end
  redis.pcall('ZADD', all, expires, id)
  if state == 'COMPLETED' then
    redis.pcall('ZREM', active, id)
  else
    redis.pcall('ZADD', active, expires, id)
  end
end
