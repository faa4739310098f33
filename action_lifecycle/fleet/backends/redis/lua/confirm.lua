-- Write a state of an operation again, so that a WAIT tells which replicas have it.
--
-- KEYS: see operation.lua | ARGV: trace id, state, fence
-- Returns 0, without a change, if the operation is in another state or has another fence.
local found = redis.call('HMGET', trace, 'state', 'fence')
if found[1] ~= ARGV[2] or found[2] ~= ARGV[3] then
  return 0
end
redis.call('HSET', trace, 'state', ARGV[2])
return 1
