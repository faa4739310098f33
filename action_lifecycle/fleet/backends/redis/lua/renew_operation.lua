-- Restart the lifetime of an operation and its checkpoint, if they are there.
--
-- KEYS: see operation.lua | ARGV: trace id, time to live (s), fence ('' for none)
-- Returns 0, without a change, if the operation has another fence.
if ARGV[3] ~= '' and redis.call('EXISTS', trace) == 1
    and redis.call('HGET', trace, 'fence') ~= ARGV[3] then
  return 0
end
redis.call('EXPIRE', checkpoint, ARGV[2])
if redis.call('EXPIRE', trace, ARGV[2]) == 1 then
  index(ARGV[1], redis.call('HGET', trace, 'state'))
end
return 1
