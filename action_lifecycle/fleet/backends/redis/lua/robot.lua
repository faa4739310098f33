-- Common to the scripts of a robot's ledger, put before each of them: looks at what is there.
--
-- KEYS: events (stream), meta (hash), open (sorted set)
local events, meta, open = KEYS[1], KEYS[2], KEYS[3]

-- Return what is wrong with a key that is there and of another type.
local function type_fault(key, expected)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= expected then
    return {'type', key, found, expected}
  end
end

-- Return seq and hash of the last row, then what is wrong with the three keys, or nil.
local function look()
  local fault = type_fault(events, 'stream') or type_fault(meta, 'hash')
    or type_fault(open, 'zset')
  if fault then
    return 0, '', fault
  end
  local cursor = redis.call('HMGET', meta, 'seq', 'hash', 'entries', 'open', 'open_at')
  local last, hash = tonumber(cursor[1] or 0), cursor[2] or ''
  if not last then
    return 0, '', {'meta', meta, cursor[1]}
  end
  local ends, entries = '0-0', 0
  if redis.call('EXISTS', events) == 1 then
    local about = redis.call('XINFO', 'STREAM', events)
    for i = 1, #about, 2 do
      if about[i] == 'last-generated-id' then ends = about[i + 1] end
      if about[i] == 'length' then entries = about[i + 1] end
    end
  end
  local expected = string.format('%.0f-0', last)
  if ends ~= expected then
    return last, hash, {'ends', events, ends, expected}
  end
  if cursor[3] and tonumber(cursor[3]) ~= entries then
    return last, hash, {'entries', events, tostring(entries), cursor[3]}
  end
  local subjects = redis.call('ZCARD', open)
  -- An older version writes rows without `open`, so its number counts for one row only.
  if cursor[5] == cursor[1] and cursor[4] and tonumber(cursor[4]) ~= subjects then
    return last, hash, {'open', open, tostring(subjects), cursor[4]}
  end
  return last, hash
end

-- Return the hash of a row in the stream, or nil.
local function hash_of(seq)
  local entry = redis.call('XRANGE', events, seq .. '-0', seq .. '-0')[1]
  for i = 1, entry and #entry[2] or 0, 2 do
    if entry[2][i] == 'hash' then return entry[2][i + 1] end
  end
end

-- Return the first command that the user of this connection may not use, or nil.
local function forbidden(commands)
  for _, command in ipairs(redis.acl_check_cmd and commands or {}) do
    if not redis.acl_check_cmd(unpack(command)) then
      return {'forbidden', command[2], command[1]}
    end
  end
end
