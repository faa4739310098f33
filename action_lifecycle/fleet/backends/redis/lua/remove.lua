-- Remove keys of a robot; without any, meta itself, after which rows are accepted again.
--
-- KEYS: meta, the keys | ARGV: what fence.lua wrote
-- Once a key is removed, unfence.lua does not permit writing any more.
-- Returns how many keys of those after meta are gone, or -1 if something else has fenced since.
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('HGET', KEYS[1], 'seq') ~= ARGV[1] then
  return -1
end
if #KEYS == 1 then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('HDEL', KEYS[1], 'fenced')
redis.call('HSET', KEYS[1], 'removing', '1')
return redis.call('UNLINK', unpack(KEYS, 2))
