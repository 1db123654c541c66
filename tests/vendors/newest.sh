#!/usr/bin/env bash
# A program on the newest lavapipe, which runs matrix units: the driver from Debian unstable
# that ./run test unpacks, with the C library beside it. Skipped where it is not there.
#
#   newest.sh PROGRAM [ARGUMENT]...
set -uo pipefail
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
# It has matrix units for vectors of 256 bits only.
unset FILTRA_DEVICE LP_NATIVE_VECTOR_WIDTH
# The driver's compiler takes most of the time, half of that on optimizing, and keeps nothing.
GALLIVM_PERF=nopt VK_ICD_FILENAMES=$shims/lvp.json VK_DRIVER_FILES=$shims/lvp.json \
  "$loader" --library-path "$(libraries "$shims/lvp.json"):$own" "$@"
