-- Tell how far the ledger is, if it is whole.
--
-- KEYS: see robot.lua; then subjects to look at
-- Returns {'ok', last seq, hash, time of the server (s)} or what is wrong, as apply.lua does.
local last, hash, fault = look()
for i = 4, #KEYS do
  fault = fault or type_fault(KEYS[i], 'hash')
  if not fault and redis.call('EXISTS', KEYS[i]) == 0 and redis.call('ZSCORE', open, KEYS[i]) then
    fault = {'subject', KEYS[i], 'none'}
  end
end
local clock = redis.call('TIME')
return fault or {'ok', string.format('%.0f', last), hash,
  clock[1] .. string.format('.%06d', clock[2])}
