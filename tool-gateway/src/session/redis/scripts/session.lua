-- KEYS: session. Returns the time of its first and of its latest turn, and the id and the record of the latest turn.
local session = redis.call('HMGET', KEYS[1], 'created', 'active', 'latest')
local record = session[3] and redis.call('HGET', key('T', session[3]), 'b')
if not record then
  return {}
end
return { session[1], session[2], session[3], record }
