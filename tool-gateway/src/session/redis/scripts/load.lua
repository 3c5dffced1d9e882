-- KEYS: turns. Returns the revision and the record of each turn, or an empty list if its session has expired.
local is_alive, found = {}, {}
for i = 1, #KEYS do
  local turn = redis.call('HMGET', KEYS[i], 'r', 'b', 's')
  local session = turn[3]
  if session and is_alive[session] == nil then
    is_alive[session] = exists(key('S', session))
  end
  found[i] = session and is_alive[session] and { turn[1], turn[2] } or {}
end
return found
