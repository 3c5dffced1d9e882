-- Maximum number of expired entries that a script removes, and maximum number of entries that it removes above the limits of a client. Other
-- clients wait for the script.
local max_expired, max_removed = 16, 256
local sizes, order, samples_by_end = prefix .. 'U', prefix .. 'O', prefix .. 'E'

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

-- Removes a turn from its point and its calls.
local function unlink_turn(id)
  local turn = redis.call('HMGET', key('T', id), 'p', 'c')
  redis.call('DEL', key('T', id))
  if turn[1] then
    redis.call('ZREM', key('P', turn[1]), id)
  end
  for call in string.gmatch(turn[2] or '', '%x+') do
    remove_reference(key('C', call), id)
  end
end

-- Removes a turn from its session. A turn that expired before, or that has a later revision in another session, is counted until the end of
-- the session.
local function remove_turn(session, id, number)
  local turn = redis.call('HMGET', key('T', id), 'r', 'z')
  redis.call('ZREM', key('Z', session), id)
  if turn[1] and tonumber(turn[1]) == tonumber(number) then
    unlink_turn(id)
    add(session, -1, 0 - tonumber(turn[2]))
  end
end

-- Removes a session after its last turn.
local function remove_session(session)
  for name in string.gmatch(redis.call('HGET', key('S', session), 'names') or '', '%x+') do
    remove_reference(key('N', name), session)
  end
  local rest = redis.call('HMGET', sizes, 't:' .. session, 'b:' .. session)
  redis.call('HINCRBY', sizes, 'turns', 0 - tonumber(rest[1] or 0))
  redis.call('HINCRBY', sizes, 'bytes', 0 - tonumber(rest[2] or 0))
  redis.call('HDEL', sizes, 't:' .. session, 'b:' .. session)
  redis.call('DEL', key('S', session), key('Z', session))
  redis.call('ZREM', order, session)
end

-- Gives the turns of an expired session another name, under which they are removed in parts, so that the session begins again.
local function set_aside(session, number)
  local expired = session .. '~' .. digits(number)
  if exists(key('Z', session)) then
    redis.call('RENAME', key('Z', session), key('Z', expired))
    for _, size in ipairs({ 't:', 'b:' }) do
      redis.call('HSET', sizes, size .. expired, redis.call('HGET', sizes, size .. session) or 0)
      redis.call('HDEL', sizes, size .. session)
    end
    redis.call('ZADD', order, 0, expired)
    redis.call('ZREM', order, session)
  end
  remove_session(session)
end

local function remove_sample(name)
  local request, number = string.match(name, '^(.*):(%d+)$')
  redis.call('DEL', key('R', name), key('L', name))
  redis.call('SREM', key('R', request), number)
  redis.call('HINCRBY', sizes, 'bytes', 0 - tonumber(redis.call('HGET', sizes, 'l:' .. name) or 0))
  redis.call('HDEL', sizes, 'l:' .. name)
  redis.call('ZREM', samples_by_end, name)
end

-- Returns whether a sample is removed at the end of its time. The time of a sample is prolonged with its lease.
local function has_expired(name)
  local left = math.max(redis.call('PTTL', key('R', name)), redis.call('PTTL', key('L', name)))
  if left > 0 then
    redis.call('ZADD', samples_by_end, digits(microseconds + left * 1000), name)
  end
  return left <= 0
end

-- Removes the first turn of a session, and the session with its last turn. Returns whether there was a turn.
local function remove_from_session(session)
  local oldest = redis.call('ZRANGE', key('Z', session), 0, 1, 'WITHSCORES')
  if #oldest > 0 then
    remove_turn(session, oldest[1], oldest[2])
  end
  if #oldest <= 2 then
    remove_session(session)
  end
end

-- Removes the first turn of a session other than this one. Returns whether there was a turn.
local function remove_own(session, id)
  local oldest = redis.call('ZRANGE', key('Z', session), 0, 1, 'WITHSCORES')
  local at = oldest[1] == id and 3 or 1
  if oldest[at] then
    remove_turn(session, oldest[at], oldest[at + 1])
  end
  return oldest[at] ~= nil
end

-- Removes expired entries, and then the client's entries above its limits without the new entry, in the order of their expiration. The
-- session of the new entry is last, and its sample and samples with a lease are kept. Returns 'again' if there may be more to remove,
-- 'full' if the rest is above the limits, or nil.
local function make_room(new)
  local samples, at = nil, 1
  for removed = 0, max_removed do
    local used = redis.call('HMGET', sizes, 'turns', 'bytes')
    local is_over = tonumber(used[1] or 0) + new.turns > new.max_turns or tonumber(used[2] or 0) + new.bytes > new.max_bytes
    if not is_over and removed >= max_expired then
      return nil
    elseif removed == max_removed then
      return 'again'
    end
    local sessions = redis.call('ZRANGE', order, 0, 1, 'WITHSCORES')
    local first = sessions[1] == new.session and 3 or 1
    local session, session_ends = sessions[first], tonumber(sessions[first + 1])
    samples = samples or redis.call('ZRANGE', samples_by_end, 0, 2 * max_removed - 1, 'WITHSCORES')
    while samples[at] and (samples[at] == new.sample or tonumber(redis.call('ZSCORE', prefix .. 'A', samples[at]) or 0) > now) do
      at = at + 2
    end
    local sample, sample_ends = samples[at], tonumber(samples[at + 1])
    local is_sample = sample and (not session or sample_ends <= session_ends)
    local ends = is_sample and sample_ends or session_ends
    if ends and ends <= microseconds then
      if not is_sample then
        remove_from_session(session)
      else
        at = at + 2
        if has_expired(sample) then
          remove_sample(sample)
        end
      end
    elseif not is_over then
      return nil
    elseif is_sample then
      at = at + 2
      remove_sample(sample)
    elseif session then
      remove_from_session(session)
    elseif not (new.session and remove_own(new.session, new.id)) then
      return 'full'
    end
  end
end
