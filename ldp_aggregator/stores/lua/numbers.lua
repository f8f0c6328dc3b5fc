-- Returns a counter's number of reports by each of its keys: its ids, its sums, and the table of published
-- plans, whose number a loss of the other two leaves.
-- KEYS: as in record.lua
local function read_numbers(field)
  local n = redis.call('GETRANGE', KEYS[2], 0, 7)
  n = #n == 8 and struct.unpack('>i8', n) or 0
  return redis.call('HLEN', KEYS[1]), n, tonumber(redis.call('HGET', KEYS[3], field) or 0)
end
