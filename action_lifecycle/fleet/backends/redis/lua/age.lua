-- Return the time (ms) since a request was submitted, by the clock of the server that has it.
--
-- KEYS: stream | ARGV: time (ms) at the beginning of the id of the request
local clock = redis.call('TIME')
return clock[1] * 1000 + math.floor(clock[2] / 1000) - ARGV[1]
