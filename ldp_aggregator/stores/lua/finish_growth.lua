-- Continues the growth of a hash: each lookup moves one bucket from its old table to its new one.
-- KEYS: the hash. ARGV: the number of lookups, in thousands
local AT_ONCE = 1000 -- below Lua's limit on the arguments of a call
local fields = {}
for i = 1, AT_ONCE do fields[i] = '' end
for _ = 1, tonumber(ARGV[1]) do redis.call('HMGET', KEYS[1], unpack(fields)) end
