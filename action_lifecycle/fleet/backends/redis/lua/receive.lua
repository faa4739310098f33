-- Begin an operation unless it is known.
--
-- KEYS: see operation.lua | ARGV: trace id, time to live (s), fields
if redis.call('EXISTS', trace) == 1 then
  return 0
end
redis.call('HSET', trace, unpack(ARGV, 3))
redis.call('HSET', trace, 'state', 'RECEIVED', 'updated_at', now)
redis.call('EXPIRE', trace, ARGV[2])
index(ARGV[1], 'RECEIVED')
return 1
