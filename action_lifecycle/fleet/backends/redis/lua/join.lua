-- Create a group that begins with the first entry of a stream, unless it exists.
-- KEYS: stream | ARGV: group
-- A script, since redis-py 4.3 does not find the key of XGROUP CREATE, which a cluster needs.
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then
  return made
end
return 1
