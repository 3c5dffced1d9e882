-- KEYS: names, calls, points. ARGV: number of names, number of calls, session or ''.
-- Returns the session of the first known name, the index, the turn and its revision of the first known call, and the latest turns of each
-- point, each with its revision.
local names, calls, own = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local latest = 64
local found = { '', 0, '', 0 }
local is_alive = {}

-- Returns the revision and the session of a turn, unless the session has expired.
local function turn_of(id)
  local turn = redis.call('HMGET', key('T', id), 'r', 's')
  local session = turn[2]
  if session and is_alive[session] == nil then
    is_alive[session] = exists(key('S', session))
  end
  if session and is_alive[session] then
    return turn[1], session
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
local turns_of_own
for i = names + calls + 1, #KEYS do
  local ids = redis.call('ZREVRANGE', KEYS[i], 0, latest - 1)
  -- All turns of the requested session after the point, also older ones.
  if #ids == latest and own ~= '' then
    turns_of_own = turns_of_own or redis.call('ZREVRANGE', key('Z', own), 0, -1)
    local oldest = tonumber(redis.call('ZSCORE', KEYS[i], ids[latest]))
    for begin = 1, #turns_of_own, 1000 do
      local some = { unpack(turns_of_own, begin, math.min(begin + 999, #turns_of_own)) }
      local scores = redis.call('ZMSCORE', KEYS[i], unpack(some))
      for j = 1, #some do
        if scores[j] and tonumber(scores[j]) < oldest then
          ids[#ids + 1] = some[j]
        end
      end
    end
  end
  local turns = {}
  for _, id in ipairs(ids) do
    local revision = turn_of(id)
    if revision then
      turns[#turns + 1] = id
      turns[#turns + 1] = revision
    end
  end
  found[#found + 1] = turns
end
return found
