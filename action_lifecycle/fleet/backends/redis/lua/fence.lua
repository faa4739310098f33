-- Keep everybody from writing to a robot's ledger while its keys are removed.
--
-- KEYS: meta (whatever its type is) | ARGV: what stands for seq, which is no number
-- Returns whether meta was there.
local there = redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'seq', ARGV[1])
return there
