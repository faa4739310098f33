-- Permit writing to a robot's ledger again, unless keys were removed, also by an earlier rebuild.
--
-- KEYS: meta | ARGV: what fence.lua wrote
if redis.call('HGET', KEYS[1], 'seq') == ARGV[1]
    and redis.call('HEXISTS', KEYS[1], 'removing') == 0 then
  local seq = redis.call('HGET', KEYS[1], 'fenced')
  if seq then
    redis.call('HSET', KEYS[1], 'seq', seq)
    redis.call('HDEL', KEYS[1], 'fenced')
  else
    redis.call('HDEL', KEYS[1], 'seq')
  end
end
