-- KEYS: turn, point, turns of the session, session, sessions by expiration, sizes, samples of the request, sample, log, leases of
-- the client, then calls, then names. ARGV: id, session, random token of the operation, record, revision, time to live, whether the turn is suspended, size in bytes,
-- maximum number of turns and of bytes of the client, number of calls, then '' or the fence, and with a fence: restart, position, segment,
-- whether it is the last one, time of a lease, time for which a log is kept.
local id, session, token = ARGV[1], ARGV[2], ARGV[3]
local ttl, size = tonumber(ARGV[6]), tonumber(ARGV[8])
local max_turns, max_bytes = tonumber(ARGV[9]), tonumber(ARGV[10])
local last_call = 10 + tonumber(ARGV[11])
local life = ttl * (ARGV[7] == '1' and 4 or 1)
local kept = ttl * 4 + math.ceil(ttl / 4)
local max_keys, max_removed = 64, 16
local order, sizes = KEYS[5], KEYS[6]

-- Adds to the sizes of the client and of a session.
local function add(session, turns, bytes)
  redis.call('HINCRBY', sizes, 'turns', turns)
  redis.call('HINCRBY', sizes, 'bytes', bytes)
  redis.call('HINCRBY', sizes, 't:' .. session, turns)
  redis.call('HINCRBY', sizes, 'b:' .. session, bytes)
end

-- Removes a name or a call, unless it has another owner by now.
local function remove_reference(name, owner)
  if redis.call('GET', name) == owner then
    redis.call('DEL', name)
  end
end

local function remove_turn(session, id)
  local turn = redis.call('HMGET', key('T', id), 'z', 'p', 'c')
  redis.call('DEL', key('T', id))
  redis.call('ZREM', key('Z', session), id)
  if turn[2] then
    redis.call('ZREM', key('P', turn[2]), id)
  end
  for call in string.gmatch(turn[3] or '', '%x+') do
    remove_reference(key('C', call), id)
  end
  add(session, -1, 0 - tonumber(turn[1] or 0))
end

local function remove_session(session)
  for _, id in ipairs(redis.call('ZRANGE', key('Z', session), 0, -1)) do
    remove_turn(session, id)
  end
  for name in string.gmatch(redis.call('HGET', key('S', session), 'names') or '', '%x+') do
    remove_reference(key('N', name), session)
  end
  -- Turns that expired before their removal.
  local rest = redis.call('HMGET', sizes, 't:' .. session, 'b:' .. session)
  add(session, 0 - tonumber(rest[1] or 0), 0 - tonumber(rest[2] or 0))
  redis.call('HDEL', sizes, 't:' .. session, 'b:' .. session)
  redis.call('DEL', key('S', session), key('Z', session))
  redis.call('ZREM', order, session)
end

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

-- Prolongs the entries of a session. Each turn must outlive its session, which a later save may prolong.
local function renew(names)
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    local turn = redis.call('HMGET', key('T', id), 'p', 'c')
    redis.call('PEXPIRE', key('T', id), kept)
    if turn[1] then
      redis.call('PEXPIRE', key('P', turn[1]), kept)
    end
    for call in string.gmatch(turn[2] or '', '%x+') do
      redis.call('PEXPIRE', key('C', call), kept)
    end
  end
  for _, name in ipairs(names) do
    redis.call('PEXPIRE', key('N', name), kept)
  end
end

-- Removes expired turns, and the client's turns above its limits, in the order of their expiration, but not the saved turn.
local function make_room()
  for _ = 1, max_removed do
    local first = redis.call('ZRANGE', order, 0, 1, 'WITHSCORES')
    local at = first[1] == session and 3 or 1
    local other, ends = first[at], tonumber(first[at + 1])
    local used = redis.call('HMGET', sizes, 'turns', 'bytes')
    local is_over = tonumber(used[1]) > max_turns or tonumber(used[2]) > max_bytes
    if other and (is_over or ends <= microseconds) then
      local oldest = redis.call('ZRANGE', key('Z', other), 0, 1)
      if #oldest > 1 then
        remove_turn(other, oldest[1])
      else
        remove_session(other)
      end
    elseif is_over then
      local oldest = redis.call('ZRANGE', KEYS[3], 0, 1)
      if #oldest < 2 then
        return
      end
      remove_turn(session, oldest[1])
    else
      return
    end
  end
end

local is_known = exists(KEYS[4])
local stored = redis.call('HMGET', KEYS[1], 'r', 'w')
local revision = is_known and tonumber(stored[1] or 0) or 0
if is_known and stored[2] == token then
  -- The answer of this operation was lost.
  return { 'saved', revision }
end
if revision ~= tonumber(ARGV[5]) then
  return { 'conflict', revision }
end
local segment, replaces
if ARGV[12] ~= '' then
  local state, detail = check_segment(KEYS[8], KEYS[9], ARGV[12], ARGV[13], tonumber(ARGV[14]), #ARGV[15])
  if state == 'new' then
    replaces = detail
    segment = {
      fence = ARGV[12],
      restart = ARGV[13],
      bytes = ARGV[15],
      is_last = ARGV[16] == '1',
      lease = tonumber(ARGV[17]),
      kept = ARGV[18],
    }
  elseif state ~= 'kept' then
    return { state, detail }
  end
end

local number = redis.call('HINCRBY', sizes, 'seq', 1)
if segment then
  append_segment(KEYS[7], KEYS[8], KEYS[9], replaces, segment)
end
if not is_known then
  -- The entries of an expired session.
  remove_session(session)
elseif revision > 0 then
  remove_turn(session, id)
end
local calls = {}
for i = 11, last_call do
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
for i = 1, 6 do
  redis.call('PEXPIRE', KEYS[i], i == 4 and life or kept)
end
if now - tonumber(before[2] or 0) > ttl / 4 then
  renew(names)
  redis.call('HSET', KEYS[4], 'renewed', digits(now))
end
make_room()
return { 'saved', number }
