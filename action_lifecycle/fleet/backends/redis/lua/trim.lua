-- Remove from the start of a robot's stream what is old and older than all that is open.
--
-- KEYS: see robot.lua | ARGV: wall time (s), how many rows at most
-- Returns {'ok', how many rows are gone} or what is wrong, as apply.lua does.
local last, hash, fault = look()
fault = fault or forbidden({
  {'XTRIM', events, 'MINID', '1-0'}, {'HSET', meta, 'entries', '1'}})
if fault then
  return fault
end
local oldest = redis.call('ZRANGE', open, 0, 0, 'WITHSCORES')
local limit = tonumber(oldest[2])
local keep
for _, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', ARGV[2] + 1)) do
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
local gone = keep and redis.call('XTRIM', events, 'MINID', keep) or 0
if gone > 0 then
  redis.call('HSET', meta, 'entries', redis.call('XLEN', events))
end
return {'ok', gone, ''}
