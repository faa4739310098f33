-- Take in a batch of journal rows: all of them that are new, or none.
--
-- KEYS: see robot.lua; then the subject of each row (hash; meta for a
--   row that has none), then the subjects whose end a compaction has swallowed
-- ARGV: through (rows up to there may have gaps), time to live of an ended subject (s), number of
--   rows, host and path of the journal, then for each row its 18 columns, ledger status and blocked
--   reason ('' if it is not about an action); a note about an action changes only these two
-- Returns {'ok', last seq} or {why not, seq of the row or key, what was found, what was expected}.
local through, keep, rows = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local columns, width, head = 18, 20, 5
local names = {'seq', 'kind', 'flow_id', 'action_id', 'attempt', 'event', 'from_state', 'to_state',
  'cause', 'actor', 'data_json', 'final', 'ros_time', 'boot_id', 'boot_time', 'wall_time',
  'prev_hash', 'hash', 'ledger_status', 'blocked_reason'}

-- Everything is checked before anything is written: a script is not undone.
local last, hash, fault = look()
fault = fault or forbidden({
  {'XADD', events, '1-0', 'a', 'b'}, {'HSET', meta, 'a', 'b'}, {'ZREM', open, 'a'},
  {'ZADD', open, 'NX', '1', 'a'}, {'HSET', KEYS[4] or meta, 'a', 'b'},
  {'EXPIRE', KEYS[4] or meta, '1'}, {'PERSIST', KEYS[4] or meta}, {'DEL', KEYS[4] or meta}})
if fault then
  return fault
end
local anchoring = last < through
local first = rows + 1
local states = {}

-- Rows that are there are skipped. Each hash covers the row before, so the last one shows them all.
local skipped = 0
for i = 1, rows do
  if tonumber(ARGV[head + (i - 1) * width + 1]) <= last then
    skipped = i
  end
end
if skipped > 0 then
  local at = head + (skipped - 1) * width
  local known = hash_of(ARGV[at + 1])
  if known and known ~= ARGV[at + 18] then
    return {'other', ARGV[at + 1], known}
  end
end

for i = 1, rows do
  local at = head + (i - 1) * width
  local seq = tonumber(ARGV[at + 1])
  if seq > last then
    first = math.min(first, i)
    if seq == last + 1 then
      if ARGV[at + 17] ~= hash then
        return {'chain', seq, hash}
      end
    elseif not (last < through and seq <= through + 1) then
      return {'gap', seq, tostring(last)}
    end
    local subject = KEYS[3 + i]
    fault = type_fault(subject, 'hash')
    if fault then
      return fault
    end
    if not states[subject] and subject ~= meta and redis.call('EXISTS', subject) == 0
        and redis.call('ZSCORE', open, subject) then
      return {'subject', subject, 'none'}
    end
    if ARGV[at + 2] == 'transition' then
      local state = states[subject] or redis.call('HGET', subject, 'to_state')
      if state and state ~= ARGV[at + 7] and ARGV[at + 7] ~= 'assigned' and not anchoring then
        return {'state', seq, state}
      end
    end
    if ARGV[at + 2] ~= 'note' then
      states[subject] = ARGV[at + 8]
    end
    last, hash = seq, ARGV[at + 18]
  end
end

if anchoring then  -- first, as a new row may open such a subject again
  for i = 4 + rows, #KEYS do
    redis.call('ZREM', open, KEYS[i])
    redis.call('DEL', KEYS[i])
  end
end
for i = first, rows do
  local at = head + (i - 1) * width
  local fields = {}
  for column = 1, width do
    fields[2 * column - 1] = names[column]
    fields[2 * column] = ARGV[at + column]
  end
  redis.call('XADD', events, ARGV[at + 1] .. '-0', unpack(fields, 1, 2 * columns))
  local subject = KEYS[3 + i]
  if subject ~= meta and ARGV[at + 2] == 'note' then
    local known = redis.call('EXISTS', subject) == 1
    redis.call('HSET', subject, 'flow_id', ARGV[at + 3], 'action_id', ARGV[at + 4],
      unpack(fields, 2 * columns + 1))
    if not known then
      redis.call('EXPIRE', subject, keep)
    end
  elseif subject ~= meta then
    redis.call('HSET', subject, unpack(fields, 1, 2 * (ARGV[at + 19] == '' and columns or width)))
    if ARGV[at + 12] == '1' then
      redis.call('ZREM', open, subject)
      redis.call('EXPIRE', subject, keep)
    else
      local opened = redis.call('ZADD', open, 'NX', ARGV[at + 1], subject)
      if opened == 1 and ARGV[at + 2] ~= 'transition' then
        redis.call('HSET', subject, 'opened', ARGV[at + 1])
      end
      redis.call('PERSIST', subject)
    end
  end
end
if first <= rows then
  redis.call('HSET', meta, 'seq', string.format('%.0f', last), 'hash', hash,
    'entries', redis.call('XLEN', events), 'host', ARGV[4], 'journal', ARGV[5])
end
if first <= rows or anchoring then
  redis.call('HSET', meta, 'open', redis.call('ZCARD', open), 'open_at', string.format('%.0f', last))
end
return {'ok', last, ''}
