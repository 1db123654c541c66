#!/bin/sh
# The op tests by the adversary, under one capability profile.
#
#   run.sh FILTRA PROFILE SEED LIMIT REPORT FOLDER-OF-PASSED-CHECKS PROGRAM TEST...
#
# PROFILE "none": the device as it is. Exits with 77 where another profile has the same plan. SEED
# may bring settings along: "3 rounding=1". Checks whose calls have passed under another profile are
# not made again. What was done is added to REPORT, of which table.sh makes a table.
set -u
filtra=$1 profile=$2 seed=$3 limit=$4 report=$5 seen=$6 program=$7
shift 7
export FILTRA_DEVICE="${FILTRA_DEVICE-cpu}"
rm -f "$report"
# shellcheck source=tests/profiles/twin.sh
. "${0%/*}/../profiles/twin.sh"
if [ "$profile" != none ]; then
  twin=$(twin_of "$filtra" "$profile") || exit 1
  if [ -n "$twin" ]; then
    echo "skipped: the same plan as $twin, which is tested"
    exit 77
  fi
  export FILTRA_CAPS="@$profile"
fi
if [ "$seen" != - ]; then
  mkdir -p "$seen"
  export FILTRA_TEST_SEEN="$seen"
fi
mkdir -p "${report%/*}"

# With the errors that Vulkan allows, tests of exact bits or of how close a driver comes are left
# out: docs/adversary.md has them one by one. Products on matrix units are cut up differently, and
# round alike: one shape stands for four.
choose_tests() {
  case $test in
    ops/activation) choice=tests=test_gradients ;;
    ops/broadcast) choice=skip=with_itself ;;
    ops/layer_norm) choice='skip=test_o*' ;; # one column, offset
    ops/matrix) choice='tests=*16x8x16' ;;
    ops/loss) choice='skip=test_cross_entropy*' ;;
    ops/optimizer) choice=tests=test_training ;;
    ops/plaplacian) choice=skip=test_p_two_is_attention ;;
    ops/reduce) choice=tests=sum_of_nothing ;;
  esac
}

failed=
for test; do
  # These compare the bits of two kernels, whose sums an arbitrary device may take in two orders.
  case $test in
    ops/gfsa | ops/plaplacian) linear=1 ;;
    *) linear=0 ;;
  esac
  choice=
  case $seed in *rounding=1) choose_tests ;; esac
  export FILTRA_ADVERSARY="seed=$seed limit=$limit linear=$linear report=$report $choice"
  log=$("$program" "$test" 2>&1) || {
    printf '%s\n' "$log"
    failed="$failed $test"
  }
  echo "$test"
done
[ -z "$failed" ] || {
  echo "failed under $profile with seed $seed:$failed"
  exit 1
}
