-- Count a batch of reports of one question, or nothing of it.
-- KEYS: ids (hash id -> fingerprint), cells (hash cell -> sum, "n", "d")
-- ARGV: number of reports, number of cells d, then id, fingerprint of each report, then cell, amount of each change
-- Returns: known ids and their fingerprints, flat; empty if the batch was counted.
local reports, first_change = tonumber(ARGV[1]), 3 + 2 * tonumber(ARGV[1])

local known = {}
for i = 3, first_change - 1, 2 do
  local fingerprint = redis.call('HGET', KEYS[1], ARGV[i])
  if fingerprint then
    known[#known + 1] = ARGV[i]
    known[#known + 1] = fingerprint
  end
end
if #known > 0 then return known end

-- All checks come before the first write. A Lua number holds 53 bits: refuse well before 64 are full.
local d = redis.call('HGET', KEYS[2], 'd')
if d and d ~= ARGV[2] then return redis.error_reply('LDP the counter has another number of cells') end
local limit = 2 ^ 62
for i = first_change, #ARGV, 2 do
  local sum = tonumber(redis.call('HGET', KEYS[2], ARGV[i]) or '0') + tonumber(ARGV[i + 1])
  if sum >= limit or sum <= -limit then return redis.error_reply('LDP a counter would overflow') end
end

for i = 3, first_change - 1, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
for i = first_change, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[2], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[2], 'd', ARGV[2])
redis.call('HINCRBY', KEYS[2], 'n', reports)
return known
