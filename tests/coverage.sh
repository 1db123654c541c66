#!/bin/sh
# Which lines of runtime/ the tests run, by gcov:
#   tests/coverage.sh [CTEST-ARGUMENT...]    the suite of ./run test --all and more calls that
#                                            fail, where nothing is said
# Built in build/coverage. Prints a line a folder and the sum; build/coverage/uncovered lists the
# lines that never ran. The driver is the one that the environment names.
set -eu
cd "$(dirname "$0")/.."
folder=build/coverage
kernels=
[ ! -e build/libfiltra.so ] || kernels=$PWD/build # which has compiled them already
[ -e "$folder/CMakeCache.txt" ] || cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DBUILD_TESTING=ON "-DFILTRA_KERNELS=$kernels" -DCMAKE_C_FLAGS=--coverage \
  -DCMAKE_C_FLAGS_RELEASE="-O1 -g" >/dev/null
cmake --build "$folder" --parallel 2 >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }
find "$folder" -name '*.gcda' -delete
[ $# != 0 ] || set -- -LE '^(profiles|vendors|adversary-all|fuzzing|ranks-all)$'
ctest --test-dir "$folder" --parallel 2 "$@" >"$folder/tests.log" 2>&1 ||
  echo "Some tests failed: $folder/tests.log"

rm -rf "$folder/gcov"
mkdir "$folder/gcov"
root=$PWD
(cd "$folder/gcov" &&
  find ../CMakeFiles/filtra_objects.dir/runtime -name '*.gcda' \
    -exec gcov -r -s "$root" {} + >/dev/null)
# A line of gcov's files is COUNT:NUMBER:TEXT; "-" has no code, "#####" never ran.
: >"$folder/uncovered"
for file in "$folder"/gcov/*.c.gcov; do
  awk -F: -v list="$folder/uncovered" '
    $2 + 0 == 0 && $3 == "Source" { source = $4; next }
    $1 ~ /-/ { next }
    { lines++ }
    $1 ~ /#####|=====/ { text = $0; sub(/^[^:]*:[^:]*:/, "", text)
      printf "%s:%d:%s\n", source, $2, text >>list; missed++ }
    END { if (source ~ /^runtime\//) print source, lines, missed + 0 }' "$file"
done | awk '
  { split($1, part, "/"); lines[part[2]] += $2; missed[part[2]] += $3; all += $2; none += $3 }
  END {
    for (name in lines)
      printf "%-8s %6d lines  %5.1f %%\n", name, lines[name], 100 - 100 * missed[name] / lines[name]
    printf "%-8s %6d lines  %5.1f %%\n", "runtime", all, 100 - 100 * none / all
  }'
