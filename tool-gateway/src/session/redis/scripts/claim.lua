-- KEYS: samples of the request. ARGV: instance, whether the request is a retry, time of a lease, time of a client's mark, time for which a
-- log is kept, numbers of the samples that run in the instance.
local request = name_of(KEYS[1])
local instance, is_retry = ARGV[1], ARGV[2] == '1'
local is_running = {}
for i = 6, #ARGV do
  is_running[tonumber(ARGV[i])] = true
end
local numbers = {}
for _, number in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  numbers[#numbers + 1] = tonumber(number)
end
table.sort(numbers)

local function sample_key(number)
  return KEYS[1] .. ':' .. number
end

local function log_key(number)
  return key('L', request .. ':' .. number)
end

local function done(number)
  return { 'done', number, redis.call('LRANGE', log_key(number), 0, -1) }
end

-- Gives the lease to the instance, with a fence that is greater than all earlier fences of the sample, also of lost ones.
local function take(number, is_reused)
  local sample, log = sample_key(number), log_key(number)
  local fence = digits(math.max(tonumber(redis.call('HGET', sample, 'fence') or 0) + 1, microseconds))
  redis.call('HSET', sample, 'fence', fence, 'owner', instance, 'until', digits(now + ARGV[3]), 'client', digits(now + ARGV[4]))
  redis.call('HDEL', sample, 'done', 'seen')
  if is_reused then
    redis.call('HDEL', sample, 'log_fence', 'log_restart', 'log_bytes')
    redis.call('DEL', log)
  end
  redis.call('SADD', KEYS[1], number)
  for _, kept in ipairs({ KEYS[1], sample, log }) do
    redis.call('PEXPIRE', kept, ARGV[5])
  end
  return { 'taken', number, fence, redis.call('LRANGE', log, 0, -1) }
end

local is_known, seen = {}, nil
for _, number in ipairs(numbers) do
  local sample = redis.call('HMGET', sample_key(number), 'fence', 'owner', 'until', 'client', 'done', 'seen')
  is_known[number] = sample[1] and true
  if sample[1] and not is_running[number] then
    local has_lease = not sample[5] and tonumber(sample[3] or 0) > now
    if has_lease and sample[2] ~= instance then
      if is_retry or tonumber(sample[4] or 0) <= now then
        return { 'held', tonumber(sample[3]) - now }
      end
    elseif not sample[5] then
      return take(number, false)
    elseif not sample[6] then
      return done(number)
    elseif is_retry or not seen then
      seen = number
    end
  end
end
if seen and is_retry then
  return done(seen)
elseif seen then
  return take(seen, true)
end
local free = 0
while is_known[free] or is_running[free] do
  free = free + 1
end
return take(free, true)
