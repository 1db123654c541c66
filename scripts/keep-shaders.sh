#!/bin/sh
# Compiles the kernels that shaders/kept keeps, those for matrix units, or compares them with what
# is kept:
#
#   scripts/keep-shaders.sh [--check] [GLSLC]
#
# Without GLSLC the system's is taken, or the one that ./run test --all unpacks from Debian unstable
# below build/ (which --check looks for in $FILTRA_SHIMS, too), if it knows matrix units. Exit
# status: 0 done, 1 failed or not as kept, 77 --check found no such compiler.
set -eu
cd "$(dirname "$0")/.."
mode=keep
[ "${1:-}" != --check ] || { mode=check; shift; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Whether the program and its arguments are a glslc that knows matrix units.
knows() {
  printf '#version 450\n%s\n%s\nvoid main() {}\n' '#extension GL_KHR_cooperative_matrix : require' \
    '#extension GL_EXT_bfloat16 : require' >"$scratch/probe.comp"
  "$@" --target-env=vulkan1.3 -o "$scratch/probe.spv" "$scratch/probe.comp" >/dev/null 2>&1
}

# An unpacked glslc runs with the C library beside it.
unpacked() {
  root=${FILTRA_SHIMS:-build/mesa-shims}/root
  [ -x "$root/usr/bin/glslc" ] || return 1
  loader=$(find "$root" -name 'ld-linux*.so*' -type f | head -n 1)
  cat >"$scratch/glslc" <<END
#!/bin/sh
exec "$loader" --library-path "$(dirname "$(find "$root" -name 'libc.so.6' | head -n 1)")" \\
  "$root/usr/bin/glslc" "\$@"
END
  chmod +x "$scratch/glslc"
}

if [ $# -gt 0 ]; then
  glslc=$1
  knows "$glslc" || { echo "keep-shaders: $glslc does not know matrix units" >&2; exit 1; }
elif knows glslc; then
  glslc=glslc
elif unpacked && knows "$scratch/glslc"; then
  glslc=$scratch/glslc
else
  echo "keep-shaders: there is no glslc here that knows GL_KHR_cooperative_matrix and" \
    "GL_EXT_bfloat16 (shaderc 2025.4 or newer); name one" >&2
  [ "$mode" = keep ] || exit 77
  exit 1
fi
cmake -DMODE=$mode -DROOT=shaders -DGLSLC="$glslc" -DSCRATCH="$scratch" \
  -P cmake/KeptShaders.cmake >"$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
cat "$scratch/out"
! grep -q '^-- skipped' "$scratch/out" || exit 77
