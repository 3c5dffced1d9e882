-- KEYS: sample, its log, leases of the client, samples by the end of their time. ARGV: fence, whether a client has received the complete
-- answer, time for which the answer is kept then.
if redis.call('HGET', KEYS[1], 'fence') == ARGV[1] then
  -- A later renewal finds the lease ended.
  redis.call('HSET', KEYS[1], 'until', 0)
  set_lease(KEYS[1], nil)
  if ARGV[2] == '1' then
    redis.call('HSET', KEYS[1], 'seen', 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
    redis.call('ZADD', KEYS[4], 'XX', digits(microseconds + ARGV[3] * 1000), name_of(KEYS[1]))
  end
end
return 1
