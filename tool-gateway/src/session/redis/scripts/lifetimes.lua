-- Prolongs up to 256 turns of a session after the turn with this number: each turn must outlive its session, which a later save may prolong.
-- Returns the number of the last prolonged turn if there may be more.
local function prolong(turns, after, kept)
  local max_prolonged = 256
  local ids = redis.call('ZRANGEBYSCORE', turns, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, max_prolonged)
  for i = 1, #ids, 2 do
    local turn = redis.call('HMGET', key('T', ids[i]), 'p', 'c')
    redis.call('PEXPIRE', key('T', ids[i]), kept)
    if turn[1] then
      redis.call('PEXPIRE', key('P', turn[1]), kept)
    end
    for call in string.gmatch(turn[2] or '', '%x+') do
      redis.call('PEXPIRE', key('C', call), kept)
    end
  end
  return #ids == 2 * max_prolonged and ids[#ids] or nil
end
