#!/usr/bin/env bash
# The gate of the kernels' speed: what AMD's, Intel's and NVIDIA's compilers make of the loops that
# train steps spend their time in (loops.c), compared with what is recorded. A value more than 5 %
# worse fails and is named. What another version of the driver recorded is not judged.
#
#   loops.sh PROGRAM [INTEL_STUB.so] RECORD.md           one chip of each compiler
#   loops.sh PROGRAM [INTEL_STUB.so] --write RECORD.md   all chips, recorded anew
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
    *.md) record=$1 ;;
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
    cat <<'END'
# What the kernels' loops consist of

Written by `tests/vendors/loops.sh build/tests/vendor_loops STUB --write docs/kernels.md`, which
asks the vendors' compilers on null and stub devices; nothing ran. The test `vendors/loops`
compares one chip of each compiler with this file and fails where a value is more than 5 % worse:
after a change that is meant, write it again. Numbers of another driver version are not compared.

Of each mixer a train step with dropout 0.1 is built, batch 32, at two shapes. **large**: 1024
tokens, width 512, 8 heads, feed-forward width 2048, 6 layers. **LRA**: 2048 tokens, width 64, 2
heads, feed-forward width 128, 2 layers. **large, fp16**: the first in 16 bits, of the mixers that
multiply 16-bit numbers, on matrix units where the compiler knows them. *recurrent* is Kernelution
in the Converter's block behind GRU positions.

*work* is a call's bytes + FLOPs / 20, in per cent of all steps of that shape, an estimate that
ranks.

Steps: *calls* and *barriers* between them; *alone and small* are calls between two barriers of
their own with fewer than 64 workgroups; *executed / useful* are the products' FLOPs with those of
the tiles' parts that stand over.

Kernels: of one iteration of the hot loop, which is the outermost loop with the most multiply-adds
(without any: the one with the most instructions; without loops the whole program). A loop inside
counts as often as it runs where that is a constant and once otherwise, and both sides of a branch
count. *multiply-adds %* of the instructions, without scheduling hints, two for each dual issue, a
matrix operation as many as its unit keeps others waiting; *matrix %*: those of matrix units alone,
where there are any, of the slots to issue all in, of which a dual issue takes one; *half rate %*:
the same where the unit takes twice the time, since NVK's devices stand for GeForce cards, too,
whose units add to F32 sums at half the rate of workstation cards of the same chip (`assembly.c` has
both from the peak rates; *matrix %* is of the latter); *shared* and *global* loads, however wide,
for 100 multiply-adds; *in flight*: the most global loads under way at once; *drains %*: waits
behind which no load is under way, for 100 loads; *barriers* of the workgroup in an iteration. These
are means of the kernel's variants by work. Registers of a lane, spills and occupancy are the worst.

p-Laplacian attention's kernels cannot be bound by matrix units, because distances, and sums of
differences, are made in F32 by ordinary ones: for a pair of tokens the forward kernel makes 2 D
multiply-adds on matrix units, 128 a slot, and D subtractions and D multiply-adds on ordinary ones,
32 a slot, so that at most 20 % of its slots can be matrix units'; backwards these are 3 D by query
and 4 D by key to 4 D each, at most 16 and 20 %.

END
    cat "$scratch/document"
  } | cat -s | sed '$ { /^$/d }' >"$write"
elif [ -n "$write" ]; then
  printf 'not written: that takes all of these devices\n'
  exit 1
fi
[ "$tested" -gt 0 ] || exit 77
exit "$failed"
