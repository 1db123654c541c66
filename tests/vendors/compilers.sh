#!/usr/bin/env bash
# Every kernel through the vendors' compilers, without their GPUs: AMD's through RADV's null
# devices, Intel's through ANV on a stub (intel_stub.c), NVIDIA's, Apple's and Qualcomm's through
# NVK, Honeykrisp and Turnip on Mesa's no-op shims, as AMD's RDNA 4, of whose matrix units RADV 25
# knows nothing. Fails when a kernel spills registers or needs scratch memory on Mesa 24 or newer. A
# driver that is not installed, or too old for a family, is skipped, and says so.
#
#   compilers.sh FILTRA [INTEL_STUB.so] [--vendors PATTERN] [RECORD.tsv | --write RECORD.tsv]
#
# What a record says of the very same kernels, constants and driver, by their fingerprint (filtra
# kernels --fingerprint), is not asked again. So kernels that change are recorded anew.
# PATTERN chooses devices whose names match: --vendors 'Intel|Apple'. NVK gives a kernel the same
# registers on Turing, Ampere and Ada (docs/compilers.md): Ampere stands for all, and the others are
# asked for by --write or by name only.
# shellcheck disable=SC2034,SC2317 # for devices.sh, which calls what it is given
set -uo pipefail

filtra=$1
shift
stub=
write=
record=
vendors=
while [ $# -gt 0 ]; do
  case $1 in
    --write) write=$2; shift ;;
    --vendors) vendors=$2; shift ;;
    *.tsv) record=$1 ;;
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

# recorded NAME COMMAND...: whether the record has just that, without spills.
recorded() {
  local name=$1 fingerprint
  shift
  [ -n "$record" ] || return 1
  fingerprint=$("$@" kernels --fingerprint 2>/dev/null) || return 1
  awk -F '\t' -v name="$name" -v fingerprint="$fingerprint" '
    $1 == "chip" && $2 == name && $6 == 0 && $7 == fingerprint { found = 1 }
    END { exit !found }' "$record"
}

# as_rows NAME: what `filtra kernels --markdown` prints, as rows of the record.
as_rows() {
  awk -v name="$1" '
    BEGIN { OFS = "\t" }
    /^## / { device = substr($0, 4); sub(/ *$/, "", device) }
    match($0, /\. [0-9]+ variants, of which /) {
      split(substr($0, RSTART + 2), word, " ")
      sub(/\.$/, "", word[8])
      print "chip", name, device, substr($0, 1, RSTART - 1), word[1], word[5], word[8]
    }
    /^\| / && !/^\| kernel / {
      gsub(/^\| *| *\|$/, "")
      gsub(/ *\| */, OFS)
      print "kernel", name, $0
    }'
}

# survey NAME COMMAND...: one family; its table goes to standard output.
survey() {
  local name=$1 table=$scratch/table
  shift
  if recorded "$name" "$@"; then
    tested=$((tested + 1))
    printf 'recorded %-22s the same kernels, constants and driver as in %s\n' "$name" "$record"
    return
  fi
  if ! "$@" kernels ${write:+--markdown} >"$table" 2>"$scratch/error"; then
    local why
    why=$(grep -v '^$' "$scratch/error" | tail -n 1 | cut -c 1-120)
    if "$@" kernels --fingerprint >"$table" 2>&1; then # the device is there: its compiler fails
      failed=1
      printf 'FAILED   %-22s %s\n' "$name" "${why:-the compiler died}"
    else
      skip "$name" "$why"
    fi
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
    as_rows "$name" <"$table" >>"$scratch/document"
  else
    sed 's/^/    /' "$table"
  fi
}

for device in "AMD GCN4 (polaris10)" "AMD GCN5 (vega10)" "AMD RDNA1 (navi10)" \
  "AMD RDNA2 (navi21)" "AMD RDNA3 (navi31)" "AMD RDNA4 (gfx1201)" "Intel Gen9 (1912)" \
  "Intel Gen12 (9a49)" "Intel DG2 (56a0)" "NVIDIA Turing (162)" "NVIDIA Ampere (172)" \
  "NVIDIA Ada (192)" "Apple M1" "Qualcomm Adreno 740"; do
  [[ $device =~ $vendors ]] || continue
  case $device in
    *Turing* | *Ada*) [[ -n $write || $vendors =~ Turing|Ada ]] || continue ;;
  esac
  on_device "$device" "$filtra" survey
done

if [ -n "$write" ] && [ "$tested" -gt 0 ]; then
  {
    printf '# %s (docs/compilers.md).\n' \
      'Written by tests/vendors/compilers.sh FILTRA STUB --write tests/vendors/compilers.tsv'
    printf '%s\t' chip name device driver variants spilling && echo fingerprint
    printf '%s\t' kernel chip kernel variants subgroup registers spills scratch shared
    echo occupancy
    cat "$scratch/document"
  } >"$write"
fi
[ "$tested" -gt 0 ] || exit 77
exit "$failed"
