-- Read the claim of a task, by the clock of the server that has it.
--
-- KEYS: lease of the task (hash) | ARGV: time to live of the key (s) if replicas must acknowledge
--   the claim (then it is written, as a WAIT does not wait for what was only read), else ''
-- Returns {holder, claimant, token, time until it lapses (ms)}, or {} if there is no valid claim.
local fault = wrong_type(KEYS[1], 'hash')
if fault then
  return fault
end
local held = redis.call('HMGET', KEYS[1], 'holder', 'claimant', 'token', 'until')
for at, name in ipairs(held[1] and {'holder', 'claimant', 'token', 'until'} or {}) do
  if not held[at] or at > 2 and not string.match(held[at], '^%d+$') then
    return redis.error_reply("ERR key " .. KEYS[1] .. " has " .. name .. " '" ..
      (held[at] or '') .. "', expected " .. (at > 2 and 'a number' or 'a text') ..
      ': something else wrote to it')
  end
end
local clock = redis.call('TIME')
local left = held[1] and held[4] - clock[1] * 1000 - math.floor(clock[2] / 1000) or 0
if ARGV[1] ~= '' and held[3] then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
end
if left <= 0 then
  return {}
end
return {held[1], held[2], held[3], left}
