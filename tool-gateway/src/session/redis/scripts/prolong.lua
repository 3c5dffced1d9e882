-- KEYS: session, turns of the session. ARGV: number of the last prolonged turn, time for which turns are kept. Returns the number of the last
-- prolonged turn, or '' if all turns are prolonged.
local last = prolong(KEYS[2], ARGV[1], ARGV[2])
if last then
  return last
end
-- The time at which the first turns were prolonged.
local began = redis.call('HGET', KEYS[1], 'renewing')
if began then
  redis.call('HSET', KEYS[1], 'renewed', began)
end
return ''
