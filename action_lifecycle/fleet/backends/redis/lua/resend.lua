-- Put the request of a dead letter into its stream again, and remove the letter; only one caller
-- ever does.
--
-- KEYS: stream, dead letters (stream), what was done with the letter (hash)
-- ARGV: id of the letter, who sends it, trace id of the new request, time to live of the hash (s),
--   approximate maximum length of the stream, then the fields of the new request (none: only tell
--   what was done)
-- Returns {1 if it was done now, else 0, request id, trace id, who, time (s)}; {-1} if the letter
-- is not there.
local fault = wrong_type(KEYS[1], 'stream') or wrong_type(KEYS[2], 'stream')
  or wrong_type(KEYS[3], 'hash')
if fault then
  return fault
end
local done = redis.call('HMGET', KEYS[3], 'request_id', 'trace_id', 'by', 'time')
if done[1] then
  return {0, done[1], done[2], done[3], done[4]}
end
if #ARGV < 6 or redis.call('XDEL', KEYS[2], ARGV[1]) == 0 then
  return {-1}
end
local clock = redis.call('TIME')
local now = clock[1] .. string.format('.%06d', clock[2])
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[5], '*', unpack(ARGV, 6))
redis.call('HSET', KEYS[3], 'request_id', id, 'trace_id', ARGV[3], 'by', ARGV[2], 'time', now)
redis.call('EXPIRE', KEYS[3], ARGV[4])
return {1, id, ARGV[3], ARGV[2], now}
