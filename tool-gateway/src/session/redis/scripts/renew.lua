-- KEYS: samples of the request, sample, log, leases of the client. ARGV: fence, time of a lease, time of a client's mark or '', time for
-- which a log is kept.
local fence = redis.call('HGET', KEYS[2], 'fence')
if fence and fence ~= ARGV[1] then
  return 0
end
-- A client that has left has no mark from now on.
local mark = ARGV[3] ~= '' and ARGV[3] or 0
-- A sample that Redis has lost, in a failover or a restart, still belongs to its owner.
redis.call('HSET', KEYS[2], 'fence', ARGV[1], 'until', digits(now + ARGV[2]), 'client', digits(now + mark))
add_sample(KEYS[1], KEYS[2])
set_lease(KEYS[2], now + ARGV[2])
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ARGV[4])
end
return 1
