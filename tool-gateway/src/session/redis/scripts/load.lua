-- KEYS: turns. Returns the revision and the record of each turn, or an empty list if its session has expired. A large reply ends before the
-- last turns, so that other clients do not wait; the gateway asks for the other turns again.
local max_bytes = 16777216
local first_turns, found, bytes = {}, {}, 0
for i = 1, #KEYS do
  if bytes >= max_bytes then
    break
  end
  local turn = redis.call('HMGET', KEYS[i], 'r', 'b', 's')
  local session = turn[3]
  if session and first_turns[session] == nil then
    first_turns[session] = first_turn(session)
  end
  if session and first_turns[session] and tonumber(turn[1]) >= first_turns[session] then
    found[i] = { turn[1], turn[2] }
    bytes = bytes + #turn[2]
  else
    found[i] = {}
  end
end
return found
