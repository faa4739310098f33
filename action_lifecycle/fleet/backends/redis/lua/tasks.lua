-- Change the claim or the status of one task of a session.
--
-- KEYS: lease of the task (hash), tasks of the session (hash), history of the session (stream)
-- ARGV: what to do, task id, holder, then
--   claim: claimant, lease (ms) | heartbeat: token, lease (ms) | release: token, reason
--   put: status, reason, token that the holder got last (0: none), record of an action (JSON or
--   empty); and at the end the time to live of the keys (s)
-- Returns the token, or 1, or 0 for a refusal.
--
-- A token is not below the time (ms), so that it is higher than one that a failover has lost.
local lease, tasks, history = KEYS[1], KEYS[2], KEYS[3]
local what, task, holder = ARGV[1], ARGV[2], ARGV[3]
local keep = ARGV[#ARGV]
local fault = wrong_type(lease, 'hash') or wrong_type(tasks, 'hash')
  or wrong_type(history, 'stream')
if fault then
  return fault
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local held = redis.call('HMGET', lease, 'holder', 'claimant', 'token', 'until')

local function note(event, claimant, token, reason)
  redis.call('XADD', history, 'MAXLEN', '~', 10000, '*', 'task_id', task, 'event', event,
    'claimant', claimant or '', 'token', token or 0, 'reason', reason or '')
  redis.call('EXPIRE', history, keep)
  redis.call('EXPIRE', lease, keep)
  redis.call('EXPIRE', tasks, keep)
end

if held[1] and now >= tonumber(held[4]) then
  note('lapsed', held[2], held[3])
  redis.call('HDEL', lease, 'holder', 'claimant', 'until')
  held[1] = false
end
local ours = held[1] == holder

if what == 'claim' then
  if held[1] and not ours then
    return 0
  end
  local token = held[3]
  if not held[1] then
    token = string.format('%.0f', math.max((held[3] or 0) + 1, now))
    redis.call('HSET', lease, 'token', token, 'holder', holder, 'claimant', ARGV[4])
    note('claimed', ARGV[4], token)
  end
  redis.call('HSET', lease, 'until', string.format('%.0f', now + ARGV[5]))
  return tonumber(token)
end

if what == 'put' then
  if held[1] and not ours or ARGV[6] ~= '0' and held[3] ~= ARGV[6] then
    return 0
  end
  local kept = {ARGV[4], ARGV[5], now / 1000}
  if ARGV[7] ~= '' then
    kept[4] = ARGV[7]
  end
  redis.call('HSET', tasks, task, cjson.encode(kept))
  note(ARGV[4], ours and held[2], ours and held[3], ARGV[5])
  return 1
end

if not ours or held[3] ~= ARGV[4] then
  return 0
end
if what == 'heartbeat' then
  redis.call('HSET', lease, 'until', string.format('%.0f', now + ARGV[5]))
else
  redis.call('HDEL', lease, 'holder', 'claimant', 'until')
  note('released', held[2], held[3], ARGV[5])
end
return 1
