-- KEYS: samples of the request, sample, log. ARGV: fence, time of a lease, time of a client's mark or '', time for which a log is kept.
if redis.call('HGET', KEYS[2], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[2], 'until', digits(now + ARGV[2]))
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], 'client', digits(now + ARGV[3]))
end
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ARGV[4])
end
return 1
