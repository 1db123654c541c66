#!/bin/sh
# A device that gives wrong numbers in one kernel is found by `filtra check`:
#   kernels.sh FILTRA_FAULTY [EVERY]
# spoils every EVERY-th kernel that the check runs (1), one at a time. Exit code 1 where the check
# passes all the same.
set -eu
filtra=$1
every=${2:-1}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

FAULT_USED=$scratch/used "$filtra" check --quiet --cache-dir "" >/dev/null
sort -u "$scratch/used" | awk -v every="$every" 'NR % every == 0' >"$scratch/kernels"
missed=0 found=0 without=0
while read -r kernel; do
  code=0
  FAULT_KERNEL=$kernel "$filtra" check --quiet --cache-dir "" >"$scratch/out" 2>&1 || code=$?
  case $code in
    1) found=$((found + 1)) ;;
    99) without=$((without + 1)) ;; # copies and the like
    0)
      case $kernel in
        # copies: their one sum is with a gradient that is there, which no case has
        complex/join | complex/parts) without=$((without + 1)) ;;
        *)
          missed=$((missed + 1))
          echo "$kernel: the check passes"
          ;;
      esac
      ;;
    *)
      missed=$((missed + 1))
      echo "$kernel: exit code $code"
      ;;
  esac
done <"$scratch/kernels"
echo "$found kernels found wrong, $missed not, $without have no arithmetic to spoil"
[ "$missed" = 0 ] && [ "$found" != 0 ]
