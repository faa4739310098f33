-- Keep a request from being claimed by others.
--
-- From Redis 7.0 on, XCLAIM would release a request that was trimmed from its stream; that one is
-- listed in the set of held requests instead, until its worker does not renew it any more.
-- KEYS: stream, held requests that were trimmed (sorted set: group and id, by the time (ms) until
--   which they are held)
-- ARGV: group, consumer, id, idle time (ms) after which others may take the request
-- Returns 0 when it is another's already, or done.
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if not pending[1] or pending[1][2] ~= ARGV[2] then
  return 0
end
if redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1] then
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'JUSTID')
  return 1
end
local fault = wrong_type(KEYS[2], 'zset')
if fault then
  return fault
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[4]), ARGV[1] .. ' ' .. ARGV[3])
redis.call('PEXPIRE', KEYS[2], math.max(redis.call('PTTL', KEYS[2]), ARGV[4]))
return 1
