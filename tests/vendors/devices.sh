# shellcheck shell=bash
# The vendors' compilers without their GPUs: AMD's through RADV's null devices, Intel's through ANV
# on a stub (intel_stub.c), NVIDIA's, Apple's and Qualcomm's through NVK, Honeykrisp and Turnip on
# Mesa's no-op shims. $stub is the stub's library, $scratch a folder.
#
# Drivers are looked for in $FILTRA_ICD_DIR, then where the system has them; shims and their drivers
# in $FILTRA_SHIMS, which ./run test unpacks with a C library of their own, then in the system.
# shellcheck disable=SC2154 # the variables above are the caller's
export MESA_SHADER_CACHE_DISABLE=1 FILTRA_DEVICE=0 XDG_RUNTIME_DIR=$scratch
export FILTRA_CAPS=processors=96 # null devices have none, shims two
unset FILTRA_TUNING FILTRA_VALIDATION

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

# on_driver NAME PROGRAM FUNCTION MANIFEST [VARIABLE=VALUE]...
on_driver() {
  local name=$1 program=$2 function=$3 icd=$4
  shift 4
  local environment=(VK_ICD_FILENAMES="$icd" VK_DRIVER_FILES="$icd" "$@")
  case $icd in "${FILTRA_ICD_DIR:-/nowhere}"/*)
    environment+=(LD_LIBRARY_PATH="$(libraries "$icd")") ;;
  esac
  "$function" "$name" env "${environment[@]}" "$program"
}

# unpacked DRIVER: whether $FILTRA_SHIMS has it, of whatever device; then $scratch has its manifest.
unpacked() {
  local library
  library=$(find "${FILTRA_SHIMS:-/nowhere}/root" -name "libvulkan_$1.so" 2>/dev/null | head -n 1)
  [ -n "$library" ] || return 1
  cat >"$scratch/$1.json" <<END
{"file_format_version": "1.0.0",
 "ICD": {"library_path": "$(realpath "$library")", "api_version": "1.4.0"}}
END
}

# on_shim NAME PROGRAM FUNCTION DRIVER VARIABLE=VALUE [SHIM]: on Mesa's no-op device for that
# driver, which the shim's name begins with where it is not given.
on_shim() {
  local name=$1 program=$2 function=$3 driver=$4 variable=$5 kind=${6:-$4} icd folder own shim
  local loader
  if unpacked "$driver"; then
    icd=$scratch/$driver.json
    folder=$(libraries "$icd")
    loader=$(find "$FILTRA_SHIMS/root" -name 'ld-linux*.so*' -type f | head -n 1)
    own=$(ldd "$program" | sed -n 's|.*=> \(/.*\)/[^/]*$|\1|p' | sort -u | paste -sd :)
    "$function" "$name" env VK_ICD_FILENAMES="$icd" VK_DRIVER_FILES="$icd" "$variable" \
      "$loader" --library-path "$folder:$own" --preload "$folder/lib${kind}_noop_drm_shim.so" \
      "$program"
    return
  fi
  icd=$(manifest "$driver")
  shim=$(find /usr/lib /usr/local/lib -name "lib${kind}_noop_drm_shim.so" 2>/dev/null | head -n 1)
  if [ -n "$icd" ] && [ -n "$shim" ]; then
    on_driver "$name" "$program" "$function" "$icd" "$variable" LD_PRELOAD="$shim"
  else
    skip "$name" "its driver or shim is not here (mesa-vulkan-drivers and mesa-drm-shim 26)"
  fi
}

# on_device "VENDOR FAMILY (CHIP)" PROGRAM FUNCTION: calls FUNCTION with the name and how the
# program is started on that device, or skips it.
on_device() {
  local name=$1 program=$2 function=$3 chip icd
  chip=${name##*\(}
  chip=${chip%)}
  case $name in
    AMD*)
      icd=$(manifest radeon)
      if [[ $name == *RDNA4* ]] && unpacked radeon; then # Mesa 25.0 knows no matrix units of it
        on_shim "$name" "$program" "$function" radeon AMDGPU_GPU_ID="$chip" amdgpu
      elif [ -n "$icd" ]; then
        on_driver "$name" "$program" "$function" "$icd" RADV_FORCE_FAMILY="$chip"
      else
        skip "$name" "RADV is not installed (mesa-vulkan-drivers)"
      fi
      ;;
    Intel*)
      icd=$(manifest intel_icd)
      if [ -z "$icd" ]; then
        skip "$name" "ANV is not installed (mesa-vulkan-drivers)"
      elif [ ! -r "$stub" ]; then
        skip "$name" "the stub device is not built (libdrm-dev)"
      else
        on_driver "$name" "$program" "$function" "$icd" INTEL_STUB_ID="$chip" LD_PRELOAD="$stub"
      fi
      ;;
    NVIDIA*) on_shim "$name" "$program" "$function" nouveau NOUVEAU_CHIPSET="$chip" ;;
    Apple*) on_shim "$name" "$program" "$function" asahi LANG=C ;;
    Qualcomm*) on_shim "$name" "$program" "$function" freedreno FD_GPU_ID="${name##* }" ;;
  esac
}
