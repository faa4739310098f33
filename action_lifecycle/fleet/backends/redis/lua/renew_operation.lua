-- Restart the lifetime of an operation and its checkpoint, if they are there.
--
-- KEYS: see operation.lua | ARGV: trace id, time to live (s)
redis.call('EXPIRE', checkpoint, ARGV[2])
if redis.call('EXPIRE', trace, ARGV[2]) == 1 then
  index(ARGV[1], redis.call('HGET', trace, 'state'))
end
