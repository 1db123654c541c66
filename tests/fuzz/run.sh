#!/bin/sh
# Fuzzes the readers of files with clang's libFuzzer, each for so many seconds:
#   tests/fuzz/run.sh [SECONDS [READER...]]     10 seconds and all readers where nothing is said
# 0 seconds only build. All is in build/fuzz: findings/READER, corpus/READER with inputs that reach
# new code, and total/READER, how often and how long it ran so far.
# Exits 77 where there is no clang with libFuzzer.
set -eu
cd "$(dirname "$0")/../.."
folder=build/fuzz
seconds=${1:-10}
[ $# = 0 ] || shift

mkdir -p "$folder/total"
echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' >"$folder/probe.c"
if ! ${FILTRA_FUZZ_CC:-clang} -fsanitize=fuzzer,address "$folder/probe.c" -o "$folder/probe" \
  2>/dev/null; then
  echo "SKIPPED: no clang with libFuzzer (Debian: clang, libclang-rt-dev)"
  exit 77
fi
if [ ! -e "$folder/CMakeCache.txt" ]; then
  generator='Unix Makefiles'
  ! command -v ninja >/dev/null || generator=Ninja
  cmake -S tests/fuzz -B "$folder" -G "$generator" -DCMAKE_C_COMPILER="${FILTRA_FUZZ_CC:-clang}" \
    >"$folder/build.log"
fi
cmake --build "$folder" --parallel 2 >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }
[ "$seconds" != 0 ] || exit 0

export ASAN_OPTIONS="quarantine_size_mb=1:allocator_may_return_null=1:detect_leaks=1"
export UBSAN_OPTIONS=print_stacktrace=1
failed=0
[ $# != 0 ] || for reader in $("$folder/filtra_fuzz"); do set -- "$@" "$reader"; done
for reader in "$@"; do
  corpus=$folder/corpus/$reader
  findings=$folder/findings/$reader
  mkdir -p "$corpus" "$findings"
  log=$folder/$reader.log # of the last run
  # The seeds' own folder is read and not written.
  "$folder/filtra_fuzz" "$reader" -max_total_time="$seconds" -max_len=8192 -timeout=20 \
    -rss_limit_mb=2048 -dict="tests/fuzz/readers/$reader/dictionary" \
    -artifact_prefix="$findings/" -print_final_stats=1 "$corpus" \
    "tests/fuzz/readers/$reader" >"$log" 2>&1 || {
    failed=1
    tail -n 40 "$log"
  }
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  found=$(find "$findings" -type f | wc -l)
  printf '%-16s %10d executions  %6d s  %d findings\n' "$reader" "${runs:-0}" "$seconds" "$found"
  total=$folder/total/$reader
  [ -e "$total" ] || echo 0 0 >"$total"
  echo "${runs:-0} $seconds" | cat "$total" - |
    awk '{ runs += $1; seconds += $2 } END { print runs, seconds }' >"$total.new"
  mv "$total.new" "$total"
done
exit "$failed"
