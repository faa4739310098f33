-- Move an operation to a state, with a checkpoint if one is given; all of it or nothing.
--
-- KEYS: see operation.lua
-- ARGV: trace id, allowed predecessors joined by spaces, target, fence ('' for none), number of
--   metadata texts, number of checkpoint texts, time to live (s), metadata, checkpoint, result if
--   there is
-- Returns the number of new fields of the checkpoint, whether it got its time to live, and 1; or
-- zeros when the trace is missing, elsewhere, or claimed with another fence.
local current = redis.call('HGET', trace, 'state')
if not current or not string.find(' ' .. ARGV[2] .. ' ', ' ' .. string.upper(current) .. ' ', 1, true)
    or ARGV[4] ~= '' and redis.call('HGET', trace, 'fence') ~= ARGV[4] then
  return {0, 0, 0}
end
local at = 8 + ARGV[5]
local added, limited = 0, 0
if tonumber(ARGV[6]) > 0 then
  added = redis.call('HSET', checkpoint, unpack(ARGV, at, at + ARGV[6] - 1))
  limited = redis.call('EXPIRE', checkpoint, ARGV[7])
end
at = at + ARGV[6]
if ARGV[at] then
  redis.call('SET', result, ARGV[at], 'EX', ARGV[7], 'NX')
end
if tonumber(ARGV[5]) > 0 then
  redis.call('HSET', trace, unpack(ARGV, 8, 7 + ARGV[5]))
end
redis.call('HSET', trace, 'state', ARGV[3], 'updated_at', now)
index(ARGV[1], ARGV[3])
return {added, limited, 1}
