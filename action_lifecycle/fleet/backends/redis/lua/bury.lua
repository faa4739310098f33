-- Take a request out of its group and keep it as a dead letter; only one caller ever does.
-- KEYS: stream, dead letters (stream) | ARGV: group, id, then the fields of the letter
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 5000, '*', unpack(ARGV, 3))
return 1
