-- Remove from the start of a robot's stream what is old and older than all that is open.
--
-- KEYS: events (stream), open (sorted set) | ARGV: wall time (s), how many rows at most
-- Returns how many rows are gone.
local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local limit = tonumber(oldest[2])
local keep
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2] + 1)) do
  local fields = entry[2]
  local seq, wall
  for i = 1, #fields, 2 do
    if fields[i] == 'seq' then seq = tonumber(fields[i + 1]) end
    if fields[i] == 'wall_time' then wall = tonumber(fields[i + 1]) end
  end
  keep = entry[1]
  if wall >= tonumber(ARGV[1]) or (limit and seq >= limit) then
    break
  end
end
return keep and redis.call('XTRIM', KEYS[1], 'MINID', keep) or 0
