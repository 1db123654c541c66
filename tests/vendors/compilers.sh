#!/usr/bin/env bash
# Every kernel through the vendors' compilers, without their GPUs: AMD's through RADV's null
# devices, Intel's through ANV on a stub (intel_stub.c), NVIDIA's, Apple's and Qualcomm's through
# NVK, Honeykrisp and Turnip on Mesa's no-op shims. Fails when a kernel spills registers or needs
# scratch memory on Mesa 24 or newer. A driver that is not installed, or too old for a family, is
# skipped, and says so.
#
#   compilers.sh FILTRA [INTEL_STUB.so] [--write FILE.md]
#
# Drivers are looked for in $FILTRA_ICD_DIR, then where the system has them; shims and their drivers
# in $FILTRA_SHIMS, which ./run test unpacks with a C library of their own, then in the system.
set -uo pipefail

filtra=$1
shift
stub=
write=
while [ $# -gt 0 ]; do
  case $1 in
    --write) write=$2; shift ;;
    *) stub=$1 ;;
  esac
  shift
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MESA_SHADER_CACHE_DISABLE=1 FILTRA_DEVICE=0 XDG_RUNTIME_DIR=$scratch
unset FILTRA_CAPS FILTRA_TUNING FILTRA_VALIDATION
tested=0
failed=0

skip() { printf 'skipped  %-22s %s\n' "$1" "$2"; }

# The first manifest whose name begins with $1; empty when there is none.
manifest() {
  local folder file
  for folder in "${FILTRA_ICD_DIR:-}" /usr/local/share/vulkan/icd.d /usr/share/vulkan/icd.d; do
    [ -n "$folder" ] || continue
    for file in "$folder/$1"*.json; do
      [ -r "$file" ] || continue
      printf '%s\n' "$file"
      return
    done
  done
}

# A library beside the driver's own, as in an unpacked package, goes before the system's.
libraries() { sed -n 's|.*"library_path": *"\(/.*\)/[^/]*".*|\1|p' "$1"; }

# survey NAME MANIFEST [VARIABLE=VALUE]...: one family; its table goes to standard output. $program
# is how filtra is started.
program=("$filtra")
survey() {
  local name=$1 icd=$2 table=$scratch/table
  shift 2
  local environment=(VK_ICD_FILENAMES="$icd" VK_DRIVER_FILES="$icd" "$@")
  case $icd in "${FILTRA_ICD_DIR:-/nowhere}"/*)
    environment+=(LD_LIBRARY_PATH="$(libraries "$icd")") ;;
  esac
  if ! env "${environment[@]}" "${program[@]}" kernels ${write:+--markdown} >"$table" \
    2>"$scratch/error"; then
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

radv=$(manifest radeon)
for family in polaris10:GCN4 vega10:GCN5 navi10:RDNA1 navi21:RDNA2 navi31:RDNA3 gfx1201:RDNA4; do
  name="AMD ${family#*:} (${family%%:*})"
  if [ -n "$radv" ]; then
    survey "$name" "$radv" RADV_FORCE_FAMILY="${family%%:*}"
  else
    skip "$name" "RADV is not installed (mesa-vulkan-drivers)"
  fi
done

anv=$(manifest intel_icd)
for device in 1912:Gen9 9a49:Gen12 56a0:DG2; do
  name="Intel ${device#*:} (${device%%:*})"
  if [ -z "$anv" ]; then
    skip "$name" "ANV is not installed (mesa-vulkan-drivers)"
  elif [ ! -r "$stub" ]; then
    skip "$name" "the stub device is not built (libdrm-dev)"
  else
    survey "$name" "$anv" INTEL_STUB_ID="${device%%:*}" LD_PRELOAD="$stub"
  fi
done

# survey_shim NAME DRIVER VARIABLE=VALUE: on Mesa's no-op device for that driver.
survey_shim() {
  local name=$1 driver=$2 icd folder own shim loader
  icd=${FILTRA_SHIMS:-/nowhere}/$driver.json
  if [ -r "$icd" ]; then
    folder=$(libraries "$icd")
    loader=$(find "$FILTRA_SHIMS/root" -name 'ld-linux*.so*' -type f | head -n 1)
    own=$(ldd "$filtra" | sed -n 's|.*=> \(/.*\)/[^/]*$|\1|p' | sort -u | paste -sd :)
    program=("$loader" --library-path "$folder:$own"
      --preload "$folder/lib${driver}_noop_drm_shim.so" "$filtra")
    survey "$name" "$icd" "$3"
    program=("$filtra")
    return
  fi
  icd=$(manifest "$driver")
  shim=$(find /usr/lib /usr/local/lib -name "lib${driver}_noop_drm_shim.so" 2>/dev/null | head -n 1)
  if [ -n "$icd" ] && [ -n "$shim" ]; then
    survey "$name" "$icd" "$3" LD_PRELOAD="$shim"
  else
    skip "$name" "its driver or shim is not here (mesa-vulkan-drivers and mesa-drm-shim 26)"
  fi
}

for chip in 162:Turing 172:Ampere 192:Ada; do
  survey_shim "NVIDIA ${chip#*:} (${chip%%:*})" nouveau NOUVEAU_CHIPSET="${chip%%:*}"
done
survey_shim "Apple M1" asahi LANG=C
survey_shim "Qualcomm Adreno 740" freedreno FD_GPU_ID=740

if [ -n "$write" ] && [ "$tested" -gt 0 ]; then
  {
    cat <<'END'
# What the vendors' compilers make of the kernels

Written by `tests/vendors/compilers.sh build/filtra STUB --write docs/compilers.md`, which asks each
driver's compiler on a null or stub device; nothing ran. Of each kernel the worst of its variants:
registers a lane, spills and scratch memory (both must be 0), shared memory in bytes, and how many
subgroups fit, where the driver tells. `filtra kernels` prints the same for the machine it is on.

END
    cat "$scratch/document"
  } >"$write"
fi
[ "$tested" -gt 0 ] || exit 77
exit "$failed"
