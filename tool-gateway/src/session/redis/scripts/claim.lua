-- KEYS: samples of the request, leases of the client, sizes, samples by the end of their time. ARGV: instance, whether the request is a
-- retry, time of a lease, time of a client's mark, time for which a log is kept, time for which an answer that no client has received is for
-- all equal requests, idempotency key or '', numbers of the samples that the instance does not ask for.
-- Maximum number of samples of a request, unless more of them run.
local max_samples = 64

local request = name_of(KEYS[1])
local instance, is_retry = ARGV[1], ARGV[2] == '1'
local idempotency_key, is_running = ARGV[7], {}
for i = 8, #ARGV do
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
  return { 'done', number, redis.call('HGET', sample_key(number), 'fence'), redis.call('LRANGE', log_key(number), 0, -1) }
end

-- Gives the lease to the instance, with a fence that is greater than all earlier fences of the sample, also of lost ones.
local function take(number, is_reused)
  local sample, log = sample_key(number), log_key(number)
  local earlier = tonumber(redis.call('HGET', sample, 'fence') or 0)
  local fence = digits(math.max(earlier + 1, microseconds))
  redis.call('HSET', sample, 'fence', fence, 'owner', instance, 'until', digits(now + ARGV[3]), 'client', digits(now + ARGV[4]))
  redis.call('HDEL', sample, 'done', 'seen')
  if is_reused then
    redis.call('HDEL', sample, 'log_restart', 'log_bytes', 'log_parts', 'key')
    redis.call('DEL', log)
    if earlier > 0 then
      -- The new sample has a new log, so that progress from earlier fences, in the memory of a gateway, is outdated.
      redis.call('HSET', sample, 'log_fence', fence)
    end
  end
  if idempotency_key ~= '' then
    redis.call('HSET', sample, 'key', idempotency_key)
  end
  redis.call('ZREMRANGEBYSCORE', prefix .. 'A', '-inf', digits(now))
  set_lease(sample, now + ARGV[3])
  redis.call('SADD', KEYS[1], number)
  count_sample(sample, tonumber(redis.call('HGET', sample, 'log_bytes') or 0), ARGV[5])
  for _, kept in ipairs({ KEYS[1], sample, log }) do
    redis.call('PEXPIRE', kept, ARGV[5])
  end
  return { 'taken', number, fence, redis.call('LRANGE', log, 0, -1), redis.call('HGET', sample, 'log_fence') or 0 }
end

-- Gives a request the sample: 'held' while another instance has its lease.
local function state_of(sample)
  if sample.is_done then
    return 'done'
  elseif sample.ends > now and sample.owner ~= instance then
    return 'held'
  end
  return 'taken'
end

local function join(sample)
  local state = state_of(sample)
  if state == 'held' then
    return { 'held', sample.ends - now }
  elseif state == 'done' then
    return done(sample.number)
  end
  return take(sample.number, false)
end

local is_known, known, samples = {}, 0, {}
for _, number in ipairs(numbers) do
  local fields = redis.call('HMGET', sample_key(number), 'fence', 'owner', 'until', 'client', 'done', 'seen', 'key')
  is_known[number] = fields[1] and true
  known = known + (fields[1] and 1 or 0)
  if fields[1] and not is_running[number] then
    samples[#samples + 1] = {
      number = number,
      fence = tonumber(fields[1]),
      owner = fields[2],
      ends = tonumber(fields[3] or 0),
      has_client = tonumber(fields[4] or 0) > now,
      -- Redis may have lost the log.
      is_done = fields[5] and exists(log_key(number)),
      is_old = fields[5] and now - fields[5] > tonumber(ARGV[6]),
      is_seen = fields[6] and true,
      key = fields[7] or '',
    }
  end
end
for _, sample in ipairs(samples) do
  if idempotency_key ~= '' and sample.key == idempotency_key then
    return join(sample)
  end
end
local held, seen
for _, sample in ipairs(samples) do
  local state = state_of(sample)
  -- Different keys belong to different requests.
  local is_retried = is_retry and (idempotency_key == '' or sample.key == '')
  if state == 'held' and sample.has_client then
    if is_retried and not held then
      held = sample
    end
  elseif state == 'done' and (sample.is_seen or sample.is_old and not is_retry) then
    -- A retry with the key of the sample gets its answer.
    if is_retried or not is_retry and sample.is_seen and sample.key == '' and not seen then
      seen = sample.number
    end
  elseif state == 'done' and sample.has_client then
    -- Its client may be receiving the answer.
    held = held or sample
  else
    return join(sample)
  end
end
if held then
  return join(held)
elseif seen and is_retry then
  return done(seen)
elseif seen then
  return take(seen, true)
end
if known >= max_samples then
  -- The oldest answer makes room, first of all one that a client has received.
  local oldest
  for _, sample in ipairs(samples) do
    local is_better = not oldest or sample.is_seen and not oldest.is_seen
    if sample.is_done and (is_better or sample.is_seen == oldest.is_seen and sample.fence < oldest.fence) then
      oldest = sample
    end
  end
  if oldest then
    return take(oldest.number, true)
  end
end
local free = 0
while is_known[free] or is_running[free] do
  free = free + 1
end
return take(free, true)
