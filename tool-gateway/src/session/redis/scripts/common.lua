-- Definitions of all scripts. Redis executes a script without other commands in between. Times are the server's, in milliseconds.
-- The first write of a script is a command that fails without memory, so that nothing is written by halves.
local prefix = string.match(KEYS[1], '^tg1:{%x+}:')
local time = redis.call('TIME')
local microseconds = time[1] * 1000000 + time[2]
local now = math.floor(microseconds / 1000)

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

local function exists(key)
  return redis.call('EXISTS', key) == 1
end
