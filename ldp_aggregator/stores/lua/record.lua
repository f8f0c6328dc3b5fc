-- Counts a batch of reports of one question, completely or not at all.
-- KEYS: ids (hash id -> mark), sums (a string of 64-bit integers, big-endian: n, then the cells);
--       a table of surveys and hashes of their plans, which lacks the survey if its data are lost, and of
--       numbers of reports by counter, which are too large if the reports of the counter are lost
-- ARGV: the reports, each 16 bytes of id and 8 of mark, in one string; the number of cells d;
--       the changes, "cell amount cell amount ..." in decimal; the survey; the hash of its plan, or an empty
--       string if it is not required; the field of the counter; the number of reports that it had already
-- Returns: known ids and their marks, flat; the new number of reports if the batch was counted.
local AT_ONCE = 1000 -- below Lua's limit on the arguments of a call
local entries, d = ARGV[1], tonumber(ARGV[2])
local reports = #entries / 24

-- A deletion removes the plan first. A report that it overtook, and that is sent again, is still a known one.
local has_plan = ARGV[5] == '' or redis.call('HGET', KEYS[3], ARGV[4]) == ARGV[5]
local stored, n, published = read_numbers(ARGV[6])
local acknowledged = math.max(published, tonumber(ARGV[7]))
if has_plan and (stored ~= n or n < acknowledged) then
  return redis.error_reply(string.format('LDP lost %s %d %d %d', ARGV[4], stored, n, acknowledged))
end

-- Calls visit(ids, {id, mark, ...}) for each slice of the batch.
local function slices(visit)
  for first = 0, reports - 1, AT_ONCE do
    local ids, pairs = {}, {}
    for i = first, math.min(first + AT_ONCE, reports) - 1 do
      local id = string.sub(entries, 24 * i + 1, 24 * i + 16)
      ids[#ids + 1] = id
      pairs[#pairs + 1] = id
      pairs[#pairs + 1] = string.sub(entries, 24 * i + 17, 24 * i + 24)
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

if not has_plan then return redis.error_reply('LDP missing ' .. ARGV[4]) end

local length = redis.call('STRLEN', KEYS[2])
if length > 0 and length ~= 8 * (d + 1) then
  return redis.error_reply('LDP the counter has another number of cells')
end

-- The last change adds 0, so that the string gets its full length.
local changes = { { '#0', tostring(reports) } }
for cell, amount in string.gmatch(ARGV[3], '(%S+) (%S+)') do
  if amount == '-9223372036854775808' then -- its negative does not fit 64 bits: add it in two steps
    changes[#changes + 1] = { '#' .. (cell + 1), '-1' }
    amount = '-9223372036854775807'
  end
  changes[#changes + 1] = { '#' .. (cell + 1), amount }
end
changes[#changes + 1] = { '#' .. d, '0' }

local function opposite(amount)
  if amount == '0' then return amount end
  return string.sub(amount, 1, 1) == '-' and string.sub(amount, 2) or '-' .. amount
end

-- Adds the changes first ... last, or subtracts them if `back`; returns the first that would leave 64 bits.
local function apply(first, last, back)
  for start = first, last, AT_ONCE do
    local command = { 'OVERFLOW', 'FAIL' }
    local stop = math.min(start + AT_ONCE - 1, last)
    for i = start, stop do
      command[#command + 1] = 'INCRBY'
      command[#command + 1] = 'i64'
      command[#command + 1] = changes[i][1]
      command[#command + 1] = back and opposite(changes[i][2]) or changes[i][2]
    end
    local sums = redis.call('BITFIELD', KEYS[2], unpack(command))
    for i = start, stop do
      if not sums[i - start + 1] then return i, stop, sums, start end
    end
  end
end

local failed, stop, sums, start = apply(1, #changes)
if failed then -- subtract what was added, within this atomic script
  apply(1, start - 1, true)
  for i = start, stop do
    if sums[i - start + 1] then apply(i, i, true) end
  end
  if length == 0 then redis.call('DEL', KEYS[2]) end
  return redis.error_reply('LDP a counter would overflow')
end
slices(function(_, pairs) redis.call('HSET', KEYS[1], unpack(pairs)) end)
if reports > 0 then redis.call('HSET', KEYS[3], ARGV[6], string.format('%d', n + reports)) end
return { n + reports }
