-- Put before scripts whose keys something else may have written to.

-- Return an error that names a key that is there and of another type, or nil.
local function wrong_type(key, expected)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= expected then
    return redis.error_reply(
      'WRONGTYPE key ' .. key .. ' is of type ' .. found .. ', expected ' .. expected)
  end
end

