# What of the command reads files: for libFuzzer's program and for that of the seeds.
set(fuzz_command common/fields.c common/record.c compare/read.c report/collect.c report/json.c
    report/read.c report/statistics.c report/summary.c sweep/read.c)
