-- Read the states of operations. KEYS: two names of the trace of each operation, plain and tagged
-- Returns a JSON list (one string is parsed faster than many): state, updated_at and created_at of
-- each, '' for what is missing.
local found = {}
for i = 1, #KEYS, 2 do
  local fields = redis.pcall('HMGET', KEYS[i], 'state', 'updated_at', 'created_at')
  if not fields.err and not fields[1] then
    fields = redis.pcall('HMGET', KEYS[i + 1], 'state', 'updated_at', 'created_at')
  end
  if fields.err then
    return wrong_type(KEYS[i], 'hash') or wrong_type(KEYS[i + 1], 'hash') or fields
  end
  for field = 1, 3 do
    found[#found + 1] = fields[field] or ''
  end
end
return cjson.encode(found)
