-- KEYS: samples of the request, sample, log, leases of the client. ARGV: fence, time of a lease, time of a client's mark or '', time for
-- which a log is kept.
local stored = redis.call('HMGET', KEYS[2], 'fence', 'until', 'done')
if stored[1] and stored[1] ~= ARGV[1] or stored[2] == '0' then
  return 0
end
-- A client that has left has no mark from now on.
local mark = ARGV[3] ~= '' and ARGV[3] or 0
-- A sample that Redis has lost, in a failover or a restart, still belongs to its owner.
redis.call('HSET', KEYS[2], 'fence', ARGV[1], 'client', digits(now + mark))
-- A complete sample has no lease, but its client may be receiving the answer.
if not stored[3] then
  redis.call('HSET', KEYS[2], 'until', digits(now + ARGV[2]))
  set_lease(KEYS[2], now + ARGV[2])
  add_sample(KEYS[1], KEYS[2])
end
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ARGV[4])
end
return 1
