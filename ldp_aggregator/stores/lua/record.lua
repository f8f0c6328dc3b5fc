-- Count a batch of reports of one question, or nothing of it.
-- KEYS: ids (hash id -> fingerprint), cells (hash cell -> sum, "n", "d")
-- ARGV: the reports, each 16 bytes of id and 16 of fingerprint, in one string; the number of cells d;
--       then cell, amount of each change, as decimal strings
-- Returns: known ids and their fingerprints, flat; empty if the batch was counted.
local AT_ONCE = 1000 -- well within Lua's limit on the arguments of one call
local entries, d = ARGV[1], ARGV[2]
local reports = #entries / 32

-- Calls visit(ids, entries as id, fingerprint, ...) for one slice of the batch after another.
local function slices(visit)
  for first = 0, reports - 1, AT_ONCE do
    local ids, pairs = {}, {}
    for i = first, math.min(first + AT_ONCE, reports) - 1 do
      local id = string.sub(entries, 32 * i + 1, 32 * i + 16)
      ids[#ids + 1] = id
      pairs[#pairs + 1] = id
      pairs[#pairs + 1] = string.sub(entries, 32 * i + 17, 32 * i + 32)
    end
    visit(ids, pairs)
  end
end

local known = {}
slices(function(ids)
  local found = redis.call('HMGET', KEYS[1], unpack(ids))
  for i = 1, #ids do
    if found[i] then
      known[#known + 1] = ids[i]
      known[#known + 1] = found[i]
    end
  end
end)
if #known > 0 then return known end

-- All checks come before the first write. A Lua number holds 53 bits: refuse well before 64 are full.
local kept = redis.call('HGET', KEYS[2], 'd')
if kept and kept ~= d then return redis.error_reply('LDP the counter has another number of cells') end
local limit = 2 ^ 62
for i = 3, #ARGV, 2 do
  local sum = tonumber(redis.call('HGET', KEYS[2], ARGV[i]) or '0') + tonumber(ARGV[i + 1])
  if sum >= limit or sum <= -limit then return redis.error_reply('LDP a counter would overflow') end
end

slices(function(_, pairs) redis.call('HSET', KEYS[1], unpack(pairs)) end)
for i = 3, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[2], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[2], 'd', d)
redis.call('HINCRBY', KEYS[2], 'n', reports)
return known
