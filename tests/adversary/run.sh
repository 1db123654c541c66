#!/bin/sh
# The op tests with the adversary behind their graphs, under one capability profile.
#
#   run.sh PROFILE SEED LIMIT REPORT FOLDER-OF-PASSED-CHECKS PROGRAM...
#
# PROFILE "none": the device as it is. SEED may bring settings along: "3 rounding=1". Checks whose
# calls have passed under another profile are not made again. What was done is added to REPORT, of
# which table.sh makes a table.
set -u
profile=$1 seed=$2 limit=$3 report=$4 seen=$5
shift 5
export FILTRA_DEVICE="${FILTRA_DEVICE-cpu}"
[ "$profile" = none ] || export FILTRA_CAPS="@$profile"
if [ "$seen" != - ]; then
  mkdir -p "$seen"
  export FILTRA_TEST_SEEN="$seen"
fi
rm -f "$report"
mkdir -p "${report%/*}"
failed=
for program; do
  # These compare the bits of two kernels, whose sums an arbitrary device may take in two orders.
  case $program in
    *_gfsa | *_plaplacian) linear=1 ;;
    *) linear=0 ;;
  esac
  export FILTRA_ADVERSARY="seed=$seed limit=$limit linear=$linear report=$report"
  log=$("$program" 2>&1) || {
    printf '%s\n' "$log"
    failed="$failed ${program##*/}"
  }
  echo "${program##*/}"
done
[ -z "$failed" ] || {
  echo "failed under $profile with seed $seed:$failed"
  exit 1
}
