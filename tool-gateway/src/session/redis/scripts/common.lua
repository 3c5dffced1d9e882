-- Definitions of all scripts. Redis executes a script without other commands in between. Times are the server's, in milliseconds.
-- The first write of a script is a command that fails without memory, so that nothing is written by halves.
local prefix = string.match(KEYS[1], '^tg1:{%x+}:')
local time = redis.call('TIME')
local microseconds = time[1] * 1000000 + time[2]
local now = math.floor(microseconds / 1000)
-- Keys that never exist. While the slot of the client moves to another server of a cluster, both servers fail here, before the first write:
-- the keys of the script are on one of them, and a key that the script computes may be on the other one.
redis.call('EXISTS', prefix .. 'moves1', prefix .. 'moves2')

local function key(kind, name)
  return prefix .. kind .. ':' .. name
end

-- Returns the part of a key after its kind.
local function name_of(key)
  return string.sub(key, #prefix + 3)
end

-- Formats a number without an exponent.
local function digits(number)
  return string.format('%.0f', number)
end

-- Records the end of a sample's lease among the leases of the client; nil ends the lease.
local function set_lease(sample, ends)
  local leases = prefix .. 'A'
  if ends then
    redis.call('ZADD', leases, digits(ends), name_of(sample))
    redis.call('PEXPIRE', leases, digits(ends - now + 60000))
  else
    redis.call('ZREM', leases, name_of(sample))
  end
end

-- Adds the number of a sample to the samples of its request.
local function add_sample(samples, sample)
  redis.call('SADD', samples, string.sub(sample, #samples + 2))
end

-- Makes a key live at least for this time.
local function keep(key, time)
  if redis.call('PTTL', key) < tonumber(time) then
    redis.call('PEXPIRE', key, time)
  end
end

-- Counts a sample with a log of this size among the bytes of the client, for the time for which the log is kept.
local function count_sample(sample, log_bytes, kept)
  local name, sizes, samples = name_of(sample), prefix .. 'U', prefix .. 'E'
  local before = tonumber(redis.call('HGET', sizes, 'l:' .. name) or 0)
  local bytes = 512 + log_bytes
  redis.call('HSET', sizes, 'l:' .. name, bytes)
  redis.call('HINCRBY', sizes, 'bytes', bytes - before)
  redis.call('ZADD', samples, digits(microseconds + kept * 1000), name)
  keep(sizes, kept)
  keep(samples, kept)
end

local function exists(key)
  return redis.call('EXISTS', key) == 1
end

-- Returns the number of the first turn of a session; false if the session has expired. Turns with smaller numbers belong to an expired
-- session of this id.
local function first_turn(session)
  local first = redis.call('HGET', key('S', session), 'first')
  return first and tonumber(first)
end
