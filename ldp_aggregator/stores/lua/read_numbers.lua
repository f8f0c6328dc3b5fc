-- ARGV: the field of the counter in the table of published plans; the survey
-- Returns, after the numbers, whether that table has the survey.
local ids, n, published = read_numbers(ARGV[1])
return { ids, n, published, redis.call('HGET', KEYS[3], ARGV[2]) and 1 or 0 }
