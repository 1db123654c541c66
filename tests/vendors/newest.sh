#!/usr/bin/env bash
# A program on the newest lavapipe, which runs matrix units: the driver from Debian unstable
# that ./run test unpacks, with the C library beside it. Skipped where it is not there.
#
#   newest.sh [--width BITS] PROGRAM [ARGUMENT]...
#
# BITS of the driver's vectors; 256 without, for which alone it has matrix units.
set -uo pipefail
width=256
if [ "$1" = --width ]; then
  width=$2
  shift 2
fi
shims=${FILTRA_SHIMS:-$(dirname "$0")/../../build/mesa-shims}
if [ ! -r "$shims/lvp.json" ]; then
  echo "skipped: lavapipe 26 is not unpacked in $shims (./run test does that)"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stub=
# shellcheck source=tests/vendors/devices.sh
. "$(dirname "$0")/devices.sh"
loader=$(find "$shims/root" -name 'ld-linux*.so*' -type f | head -n 1)
own=$(ldd "$1" | sed -n 's|.*=> \(/.*\)/[^/]*$|\1|p' | sort -u | paste -sd :)
unset FILTRA_DEVICE
# The driver's compiler takes most of the time, half of that on optimizing, and keeps nothing.
export GALLIVM_PERF=nopt LP_NATIVE_VECTOR_WIDTH=$width
VK_ICD_FILENAMES=$shims/lvp.json VK_DRIVER_FILES=$shims/lvp.json \
  "$loader" --library-path "$(libraries "$shims/lvp.json"):$own" "$@"
