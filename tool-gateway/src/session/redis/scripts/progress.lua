-- Maximum size of the log of a sample in bytes.
local max_log = 67108864

-- Reads the parts of a large segment before its last part. Returns nil if Redis has lost a part.
local function read_parts(stored, count)
  local parts = {}
  for i = 1, count do
    local part = redis.call('HGET', stored, i)
    if not part then
      return nil
    end
    parts[i] = part
  end
  return parts
end

-- Returns the state of a segment: 'new', 'kept', 'fenced', 'gap' with the number of segments in the log, or 'full'.
-- The second result for 'new' states whether the segment replaces the log. A sample that Redis has lost, in a failover or a restart, still
-- belongs to its owner.
local function check_segment(sample, log, fence, restart, at, bytes)
  local stored = redis.call('HMGET', sample, 'fence', 'log_fence', 'log_restart', 'log_bytes', 'log_parts')
  if stored[1] and stored[1] ~= fence then
    return 'fenced'
  end
  local new_fence, new_restart = tonumber(fence), tonumber(restart)
  local log_fence, log_restart = tonumber(stored[2] or 0), tonumber(stored[3] or 0)
  if new_fence < log_fence or new_fence == log_fence and new_restart < log_restart then
    return 'fenced'
  end
  local replaces = new_fence > log_fence or new_restart > log_restart
  local have = replaces and 0 or math.max(0, redis.call('LLEN', log) - tonumber(stored[5] or 0))
  if at > have then
    return 'gap', have
  elseif at < have then
    return 'kept'
  end
  local before = replaces and 0 or tonumber(stored[4] or 0)
  if before + bytes > max_log then
    return 'full'
  end
  return 'new', replaces
end

-- Appends a new segment, and renews the lease. The last segment ends the lease. A sample is done only after its last segment was written.
local function append_segment(samples, sample, log, replaces, segment)
  local before = redis.call('HMGET', sample, 'until', 'log_bytes', 'log_parts')
  local bytes = segment.size + (replaces and 0 or tonumber(before[2] or 0))
  -- Number of entries of the log that are parts of a segment before its last part.
  local log_parts = #segment.parts + (replaces and 0 or tonumber(before[3] or 0))
  -- A released lease stays so.
  local ends = before[1] == '0' and 0 or math.max(tonumber(before[1] or 0), now + segment.lease)
  redis.call('HSET', sample, 'fence', segment.fence, 'log_fence', segment.fence, 'log_restart', segment.restart, 'log_bytes', bytes, 'log_parts', log_parts, 'until', digits(ends))
  add_sample(samples, sample)
  if replaces then
    redis.call('DEL', log)
  end
  for _, part in ipairs(segment.parts) do
    redis.call('RPUSH', log, part)
  end
  redis.call('RPUSH', log, segment.bytes)
  if #segment.parts > 0 then
    redis.call('DEL', segment.stored_parts)
  end
  if segment.is_last then
    redis.call('HSET', sample, 'done', digits(now))
    set_lease(sample, nil)
  else
    redis.call('HDEL', sample, 'done')
    set_lease(sample, ends > 0 and ends or nil)
  end
  count_sample(sample, bytes, segment.kept)
  for _, kept in ipairs({ samples, sample, log }) do
    redis.call('PEXPIRE', kept, segment.kept)
  end
end
