-- KEYS: names, calls, points. ARGV: number of names, number of calls, session or ''.
-- Returns the session of the first known name, the index, the turn and its revision of the first known call, the session whose turns are
-- complete, and the latest turns of each point, each with its revision. A reply with many turns ends before the last points, so that other
-- clients do not wait; the gateway asks for the other points again.
local names, calls, own = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local latest, max_turns, max_known = 64, 2048, 256
local found = { '', 0, '', 0, '' }
local first_turns = {}

-- Returns the revision and the session of a turn, unless the session has expired.
local function turn_of(id)
  local turn = redis.call('HMGET', key('T', id), 'r', 's')
  local session = turn[2]
  if session and first_turns[session] == nil then
    first_turns[session] = first_turn(session)
  end
  if session and first_turns[session] and tonumber(turn[1]) >= first_turns[session] then
    return turn[1], session
  end
end

-- Revisions of turns. The latest turns of one session are read together, since a history usually has turns of one session only.
local revisions, known_session = {}, nil
local function read_turns(session)
  known_session = session
  local turns = redis.call('ZREVRANGE', key('Z', session), 0, max_known - 1, 'WITHSCORES')
  for i = 1, #turns, 2 do
    if tonumber(turns[i + 1]) >= first_turns[session] then
      revisions[turns[i]] = turns[i + 1]
    end
  end
end

local session_of_call = ''
for i = 1, names do
  local session = redis.call('GET', KEYS[i])
  if session and exists(key('S', session)) then
    found[1] = session
    break
  end
end
for i = names + 1, names + calls do
  local id = redis.call('GET', KEYS[i])
  if id then
    local revision, session = turn_of(id)
    if revision then
      found[2], found[3], found[4], session_of_call = i - names, id, revision, session
      break
    end
  end
end
if own == '' then
  own = session_of_call ~= '' and session_of_call or found[1]
end
found[5] = own
local first_of_own = own ~= '' and first_turn(own)
if first_of_own then
  first_turns[own] = first_of_own
  read_turns(own)
end
local number = 0
for i = names + calls + 1, #KEYS do
  if number >= max_turns then
    break
  end
  local ids = redis.call('ZREVRANGE', KEYS[i], 0, latest - 1)
  -- All turns of the requested session after the point, also older ones. The number of a turn is its revision. A turn is after one point, so
  -- that all intersections together take one step for each turn of the session.
  if #ids == latest and first_of_own then
    local is_latest = {}
    for _, id in ipairs(ids) do
      is_latest[id] = true
    end
    local of_own = redis.call('ZINTER', 2, KEYS[i], key('Z', own), 'AGGREGATE', 'MIN', 'WITHSCORES')
    for j = #of_own - 1, 1, -2 do
      local id, revision = of_own[j], of_own[j + 1]
      revisions[id] = revision
      if not is_latest[id] then
        ids[#ids + 1] = id
      end
    end
  end
  local turns = {}
  for _, id in ipairs(ids) do
    local revision, session = revisions[id]
    if not revision then
      revision, session = turn_of(id)
      if revision and not known_session then
        read_turns(session)
      end
    end
    if revision then
      turns[#turns + 1] = id
      turns[#turns + 1] = revision
    end
  end
  number = number + #ids
  found[#found + 1] = turns
end
return found
