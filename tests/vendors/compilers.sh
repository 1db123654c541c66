#!/usr/bin/env bash
# Every kernel through the vendors' compilers, without their GPUs: AMD's through RADV's null
# devices, Intel's through ANV on a stub (intel_stub.c), NVIDIA's, Apple's and Qualcomm's through
# NVK, Honeykrisp and Turnip on Mesa's no-op shims, as AMD's RDNA 4, of whose matrix units RADV 25
# knows nothing. Fails when a kernel spills registers or needs scratch memory on Mesa 24 or newer. A
# driver that is not installed, or too old for a family, is skipped, and says so.
#
#   compilers.sh FILTRA [INTEL_STUB.so] [--vendors PATTERN] [--write FILE.md]
#
# PATTERN chooses devices whose names match: --vendors 'Intel|Apple'. NVK makes the same of a kernel
# for Ada as for Ampere (docs/compilers.md), so Ada's is asked for by --write or by name only.
# shellcheck disable=SC2034,SC2317 # for devices.sh, which calls what it is given
set -uo pipefail

filtra=$1
shift
stub=
write=
vendors=
while [ $# -gt 0 ]; do
  case $1 in
    --write) write=$2; shift ;;
    --vendors) vendors=$2; shift ;;
    *) stub=$1 ;;
  esac
  shift
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tested=0
failed=0

# shellcheck source=tests/vendors/devices.sh
. "$(dirname "$0")/devices.sh"

# survey NAME COMMAND...: one family; its table goes to standard output.
survey() {
  local name=$1 table=$scratch/table
  shift
  if ! "$@" kernels ${write:+--markdown} >"$table" 2>"$scratch/error"; then
    skip "$name" "$(grep -v '^$' "$scratch/error" | tail -n 1 | cut -c 1-120)"
    return
  fi
  tested=$((tested + 1))
  local mesa
  mesa=$(sed -n 's/.*Mesa \([0-9]*\)\..*/\1/p' "$table" | head -n 1)
  if grep -qE 'of which 0 spill' "$table"; then
    printf 'passed   %-22s ' "$name"
  elif [ -n "$mesa" ] && [ "$mesa" -lt 24 ]; then
    printf 'old      %-22s Mesa %s is shown, not judged: ' "$name" "$mesa"
  else
    failed=1
    printf 'FAILED   %-22s ' "$name"
  fi
  grep -E 'of which [0-9]+ spill' "$table"
  if [ -n "$write" ]; then
    { printf '## %s\n\n' "$name"; sed '1s/^## //; s/ *$//' "$table"; echo; } >>"$scratch/document"
  else
    sed 's/^/    /' "$table"
  fi
}

for device in "AMD GCN4 (polaris10)" "AMD GCN5 (vega10)" "AMD RDNA1 (navi10)" \
  "AMD RDNA2 (navi21)" "AMD RDNA3 (navi31)" "AMD RDNA4 (gfx1201)" "Intel Gen9 (1912)" \
  "Intel Gen12 (9a49)" "Intel DG2 (56a0)" "NVIDIA Turing (162)" "NVIDIA Ampere (172)" \
  "NVIDIA Ada (192)" "Apple M1" "Qualcomm Adreno 740"; do
  [[ $device =~ $vendors ]] || continue
  [[ $device != *Ada* || -n $write || $vendors == *Ada* ]] || continue
  on_device "$device" "$filtra" survey
done

if [ -n "$write" ] && [ "$tested" -gt 0 ]; then
  {
    cat <<'END'
# What the vendors' compilers make of the kernels

Written by `tests/vendors/compilers.sh build/filtra STUB --write docs/compilers.md`, which asks each
driver's compiler on a null or stub device; nothing ran. Of each kernel the worst of its variants:
registers a lane, spills and scratch memory (both must be 0), shared memory in bytes, and how many
subgroups fit, where the driver tells. Attention's kernels on matrix units are among them where the
driver has such units, those of products in [kernels.md](kernels.md). `filtra kernels` prints the
same for the machine it is on.

END
    cat "$scratch/document"
  } >"$write"
fi
[ "$tested" -gt 0 ] || exit 77
exit "$failed"
