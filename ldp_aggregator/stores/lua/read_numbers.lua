-- ARGV: the field of the counter in the table of published plans
return { read_numbers(ARGV[1]) }
