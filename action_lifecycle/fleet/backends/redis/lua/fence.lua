-- Keep everybody from writing to a robot's ledger while its keys are saved and removed.
--
-- KEYS: meta (whatever its type is) | ARGV: what stands for seq, which is no number
-- Returns whether meta was there.
local there = redis.call('EXISTS', KEYS[1])
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  local seq = redis.call('HGET', KEYS[1], 'seq')
  if seq and string.match(seq, '^%d+$') then
    redis.call('HSET', KEYS[1], 'fenced', seq)
  end
else
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'seq', ARGV[1])
return there
