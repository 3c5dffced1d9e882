-- KEYS: samples of the request, sample, log, leases of the client, sizes, sessions by expiration, samples by the end of their time, parts of
-- the segment before its last part. ARGV: fence, restart, position, last part of the segment, whether it is the last segment, time of a
-- lease, time for which a log is kept, number of the other parts, size of all parts, maximum number of bytes of the client.
local size = tonumber(ARGV[9])
local state, detail = check_segment(KEYS[2], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3]), size)
local parts
if state == 'new' then
  parts = read_parts(KEYS[8], tonumber(ARGV[8]))
  if not parts then
    return { 'gap', 0 }
  end
  local room = make_room({
    turns = 0,
    bytes = size,
    max_turns = math.huge,
    max_bytes = tonumber(ARGV[10]),
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
    parts = parts,
    stored_parts = KEYS[8],
    size = size,
    is_last = ARGV[5] == '1',
    lease = tonumber(ARGV[6]),
    kept = ARGV[7],
  })
  return { 'kept' }
elseif state == 'kept' then
  -- Since Redis 7.2, `WAIT` waits only for the writes of its connection, which may be a new one.
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
return { state, detail }
