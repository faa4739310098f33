-- Begin an operation unless it is known. KEYS: trace (hash) | ARGV: time to live (s), fields
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('HSET', KEYS[1], 'state', 'RECEIVED')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
