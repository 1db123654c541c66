#!/usr/bin/env bash
# The gate of the kernels' speed: what AMD's, Intel's and NVIDIA's compilers make of the loops that
# train steps spend their time in (loops.c), compared with what is recorded. A value more than 5 %
# worse fails and is named. What another version of the driver recorded is not judged.
#
#   loops.sh PROGRAM [INTEL_STUB.so] RECORD.tsv           one chip of each compiler
#   loops.sh PROGRAM [INTEL_STUB.so] --write RECORD.tsv   all chips, recorded anew
# shellcheck disable=SC2034,SC2317 # for devices.sh, which calls what it is given
set -uo pipefail

program=$1
shift
stub=
write=
record=
while [ $# -gt 0 ]; do
  case $1 in
    --write) write=$2; shift ;;
    *.tsv) record=$1 ;;
    *) stub=$1 ;;
  esac
  shift
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/vendors/devices.sh
. "$(dirname "$0")/devices.sh"
tested=0
failed=0

# judge NAME COMMAND...
judge() {
  local name=$1 code
  shift
  { "$@" "$name" ${record:+"$record"} >"$scratch/tables"; } 2>"$scratch/error"
  code=$?
  sed -i '/^$/d; /invalid pci bus info/d; /not a conformant/d' "$scratch/error"
  if [ "$code" = 77 ] || [ "$code" -gt 128 ]; then # a driver that does not know the chip may abort
    skip "$name" "$(tail -n 1 "$scratch/error")"
    return
  fi
  tested=$((tested + 1))
  if [ "$code" = 0 ]; then
    printf 'passed   %s\n' "$name"
    cat "$scratch/tables" >>"$scratch/document"
  else
    failed=1
    printf 'FAILED   %s\n' "$name"
    sed 's/^/    /; 60q' "$scratch/error"
  fi
}

devices=("AMD RDNA3 (navi31)" "Intel DG2 (56a0)" "NVIDIA Ampere (172)")
if [ -n "$write" ]; then
  devices+=("AMD GCN5 (vega10)" "AMD RDNA2 (navi21)" "AMD RDNA4 (gfx1201)" "Intel Xe2 (e20b)"
    "NVIDIA Turing (162)" "NVIDIA Ada (192)")
fi
for device in "${devices[@]}"; do
  on_device "$device" "$program" judge
done

if [ -n "$write" ] && [ "$failed" = 0 ] && [ "$tested" = "${#devices[@]}" ]; then
  {
    printf '# %s (docs/compilers.md).\n' \
      'Written by tests/vendors/loops.sh VENDOR_LOOPS STUB --write tests/vendors/loops.tsv'
    cat "$scratch/document"
  } >"$write"
elif [ -n "$write" ]; then
  printf 'not written: that takes all of these devices\n'
  exit 1
fi
[ "$tested" -gt 0 ] || exit 77
exit "$failed"
