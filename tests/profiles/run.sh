#!/bin/sh
# The op tests under one capability profile. Exits with 77 where a profile listed before it, or the
# device without one, has the same plan, and says which; checks whose calls have passed under
# another profile are not made again (tests/support/seen.h). They are kept in FILTRA_TEST_SEEN if
# that is set, else in the folder named.
#
#   run.sh FILTRA NAME FOLDER-OF-PASSED-CHECKS PROGRAM TEST...
set -u
filtra=$1 name=$2 seen=${FILTRA_TEST_SEEN:-$3} program=$4
shift 4

# The tests choose the CPU driver if nobody else does, so the plans are asked of that.
export FILTRA_DEVICE="${FILTRA_DEVICE-cpu}"
# shellcheck source=tests/profiles/twin.sh
. "${0%/*}/twin.sh"
twin=$(twin_of "$filtra" "$name") || exit 1
if [ -n "$twin" ]; then
  echo "skipped: the same plan as $twin, which is tested"
  exit 77
fi
mkdir -p "$seen"
export FILTRA_CAPS="@$name" FILTRA_TEST_SEEN="$seen"
failed=
for test; do
  log=$("$program" "$test" 2>&1) || {
    printf '%s\n' "$log"
    failed="$failed $test"
  }
  echo "$test"
  printf '%s\n' "$log" | grep -E 'checks(, of which| not made)|not tested|is not here' | sort -u |
    sed 's/^/    /'
done
[ -z "$failed" ] || {
  echo "failed under @$name:$failed"
  exit 1
}
