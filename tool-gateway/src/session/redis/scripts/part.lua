-- KEYS: parts of a segment. ARGV: number of the part, part, time for which the parts are kept. A segment of several parts is appended with its
-- last part, so that no other client waits for the transfer of the whole segment.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
