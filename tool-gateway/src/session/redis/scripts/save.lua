-- KEYS: turn, point, turns of the session, session, sessions by expiration, sizes, samples of the request, sample, log, leases of the client,
-- samples by the end of their time, parts of the segment before its last part, then calls, then names. ARGV: id, session, random token of the operation, record, revision, time to
-- live, whether the turn is suspended, size in bytes,
-- maximum number of turns and of bytes of the client, number of calls, then '' or the fence, and with a fence: restart, position, last
-- part of the segment, whether it is the last segment, time of a lease, time for which a log is kept, number of the other parts, size of all parts.
local id, session, token = ARGV[1], ARGV[2], ARGV[3]
local ttl, size = tonumber(ARGV[6]), tonumber(ARGV[8])
local max_turns, max_bytes = tonumber(ARGV[9]), tonumber(ARGV[10])
local last_call = 12 + tonumber(ARGV[11])
local life = ttl * (ARGV[7] == '1' and 4 or 1)
local kept = ttl * 4 + math.ceil(ttl / 4)
local max_keys = 64

-- Gives the session this name, as its latest one. The earliest name above the maximum is removed.
local function add_name(names, name)
  for i = #names, 1, -1 do
    if names[i] == name then
      table.remove(names, i)
    end
  end
  names[#names + 1] = name
  if #names > max_keys then
    remove_reference(key('N', table.remove(names, 1)), session)
  end
  redis.call('SET', key('N', name), session, 'PX', kept)
end

local is_known = exists(KEYS[4])
local stored = redis.call('HMGET', KEYS[1], 'r', 'w', 'z')
local revision = tonumber(stored[1] or 0)
local is_replaced = revision > 0
if revision < (first_turn(session) or math.huge) then
  -- A turn of an expired session.
  revision = 0
end
if revision > 0 and stored[2] == token then
  -- The answer of this operation was lost. Since Redis 7.2, `WAIT` waits only for the writes of its connection, which may be a new one.
  redis.call('PEXPIRE', KEYS[1], kept)
  return { 'saved', revision }
end
if revision ~= tonumber(ARGV[5]) then
  return { 'conflict', revision }
end
local segment, replaces
if ARGV[12] ~= '' then
  local state, detail = check_segment(KEYS[8], KEYS[9], ARGV[12], ARGV[13], tonumber(ARGV[14]), tonumber(ARGV[20]))
  if state == 'new' then
    replaces = detail
    local parts = read_parts(KEYS[12], tonumber(ARGV[19]))
    if not parts then
      return { 'gap', 0 }
    end
    segment = {
      fence = ARGV[12],
      restart = ARGV[13],
      bytes = ARGV[15],
      parts = parts,
      stored_parts = KEYS[12],
      size = tonumber(ARGV[20]),
      is_last = ARGV[16] == '1',
      lease = tonumber(ARGV[17]),
      kept = ARGV[18],
    }
  elseif state ~= 'kept' then
    return { state, detail }
  end
end

local number = redis.call('HINCRBY', sizes, 'seq', 1)
if not is_known then
  set_aside(session, number)
end
local room = make_room({
  turns = revision > 0 and 0 or 1,
  bytes = size - (revision > 0 and tonumber(stored[3]) or 0) + (segment and segment.size or 0),
  max_turns = max_turns,
  max_bytes = max_bytes,
  session = session,
  id = id,
  sample = segment and name_of(KEYS[8]),
})
if room == 'again' then
  return { 'again' }
end
if segment then
  append_segment(KEYS[7], KEYS[8], KEYS[9], replaces, segment)
end
if revision > 0 then
  remove_turn(session, id, revision)
elseif is_replaced then
  unlink_turn(id)
end
local calls = {}
for i = 13, last_call do
  calls[#calls + 1] = name_of(KEYS[i])
  redis.call('SET', KEYS[i], id, 'PX', kept)
end
redis.call('HSET', KEYS[1], 'b', ARGV[4], 'r', number, 'w', token, 's', session, 'z', size, 'p', name_of(KEYS[2]), 'c', table.concat(calls, ' '))
redis.call('ZADD', KEYS[2], number, id)
redis.call('ZADD', KEYS[3], number, id)
add(session, 1, size)
redis.call('HSETNX', KEYS[4], 'created', digits(now))
redis.call('HSETNX', KEYS[4], 'first', number)
redis.call('HSET', KEYS[4], 'active', digits(now), 'latest', id)
redis.call('ZADD', order, digits(microseconds + life * 1000), session)
local names = {}
local before = redis.call('HMGET', KEYS[4], 'names', 'renewed')
for name in string.gmatch(before[1] or '', '%x+') do
  names[#names + 1] = name
end
if last_call < #KEYS then
  for i = last_call + 1, #KEYS do
    add_name(names, name_of(KEYS[i]))
  end
  redis.call('HSET', KEYS[4], 'names', table.concat(names, ' '))
end
for i = 1, 5 do
  redis.call('PEXPIRE', KEYS[i], i == 4 and life or kept)
end
keep(sizes, kept)
local last
if now - tonumber(before[2] or 0) > ttl / 4 then
  for _, name in ipairs(names) do
    redis.call('PEXPIRE', key('N', name), kept)
  end
  last = prolong(KEYS[3], 0, digits(kept))
  redis.call('HSET', KEYS[4], last and 'renewing' or 'renewed', digits(now))
end
return { 'saved', number, last or '' }
