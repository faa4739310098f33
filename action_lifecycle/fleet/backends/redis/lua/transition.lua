-- Move an operation to a state, with a checkpoint if one is given; all of it or nothing.
--
-- KEYS: trace (hash), checkpoint (hash), result (string)
-- ARGV: allowed predecessors joined by spaces, target, fence ('' for none), number of metadata
--   texts, number of checkpoint texts, time to live (s), metadata, checkpoint, result if there is
-- Returns the number of new fields of the checkpoint, whether it got its time to live, and 1; or
-- zeros when the trace is missing, elsewhere, or claimed with another fence.
local trace, checkpoint = KEYS[1], KEYS[2]
local current = redis.call('HGET', trace, 'state')
if not current or not string.find(' ' .. ARGV[1] .. ' ', ' ' .. current .. ' ', 1, true)
    or ARGV[3] ~= '' and redis.call('HGET', trace, 'fence') ~= ARGV[3] then
  return {0, 0, 0}
end
local at = 7 + ARGV[4]
local added, limited = 0, 0
if tonumber(ARGV[5]) > 0 then
  added = redis.call('HSET', checkpoint, unpack(ARGV, at, at + ARGV[5] - 1))
  limited = redis.call('EXPIRE', checkpoint, ARGV[6])
end
at = at + ARGV[5]
if ARGV[at] then
  redis.call('SET', KEYS[3], ARGV[at], 'EX', ARGV[6], 'NX')
end
if tonumber(ARGV[4]) > 0 then
  redis.call('HSET', trace, unpack(ARGV, 7, 6 + ARGV[4]))
end
redis.call('HSET', trace, 'state', ARGV[2])
return {added, limited, 1}
