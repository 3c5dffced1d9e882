-- KEYS: leases of the client by their end. Returns the number of valid leases.
return redis.call('ZCOUNT', KEYS[1], '(' .. digits(now), '+inf')
