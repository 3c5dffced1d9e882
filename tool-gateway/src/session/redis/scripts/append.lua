-- KEYS: samples of the request, sample, log, leases of the client. ARGV: fence, restart, position, segment, whether it is the last one,
-- time of a lease, time for which a log is kept.
local state, detail = check_segment(KEYS[2], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3]), #ARGV[4])
if state == 'new' then
  append_segment(KEYS[1], KEYS[2], KEYS[3], detail, {
    fence = ARGV[1],
    restart = ARGV[2],
    bytes = ARGV[4],
    is_last = ARGV[5] == '1',
    lease = tonumber(ARGV[6]),
    kept = ARGV[7],
  })
  return { 'kept' }
end
return { state, detail }
