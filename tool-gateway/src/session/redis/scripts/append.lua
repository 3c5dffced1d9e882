-- KEYS: samples of the request, sample, log, leases of the client, sizes, sessions by expiration, samples by the end of their time. ARGV:
-- fence, restart, position, segment, whether it is the last one, time of a lease, time for which a log is kept, maximum number of bytes of
-- the client.
local state, detail = check_segment(KEYS[2], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3]), #ARGV[4])
if state == 'new' then
  local room = make_room({
    turns = 0,
    bytes = #ARGV[4],
    max_turns = math.huge,
    max_bytes = tonumber(ARGV[8]),
    sample = name_of(KEYS[2]),
  })
  if room == 'again' then
    return { 'again' }
  elseif room == 'full' then
    return { 'crowded' }
  end
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
