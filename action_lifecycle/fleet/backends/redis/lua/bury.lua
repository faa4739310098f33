-- Take a request out of its group and keep it as a dead letter; only its holder can do so, once.
-- KEYS: stream, dead letters (stream)
-- ARGV: group, consumer, id, then the fields of the letter
local fault = wrong_type(KEYS[2], 'stream')
if fault then
  return fault
end
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if not pending[1] or pending[1][2] ~= ARGV[2] then
  return 0
end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 5000, '*', unpack(ARGV, 4))
return 1
