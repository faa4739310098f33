-- Tell how far the ledger is, if it is whole.
--
-- KEYS: see robot.lua; then subjects to look at
-- Returns {'ok', last seq, hash} or what is wrong, as apply.lua does.
local last, hash, fault = look()
for i = 4, #KEYS do
  fault = fault or type_fault(KEYS[i], 'hash')
  if not fault and redis.call('EXISTS', KEYS[i]) == 0 and redis.call('ZSCORE', open, KEYS[i]) then
    fault = {'subject', KEYS[i], 'none'}
  end
end
return fault or {'ok', string.format('%.0f', last), hash}
