# shellcheck shell=sh
# Part of ./run: what is needed, what it is called where, and installing it.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

# One need a line, then its packages for apt-get, dnf, pacman and zypper.
needs_table() {
  cat <<'END'
compiler   gcc,libc6-dev            gcc                       gcc           gcc
cmake      cmake                    cmake                     cmake         cmake
ninja      ninja-build              ninja-build               ninja         ninja
pkg-config pkg-config               pkgconf-pkg-config        pkgconf       pkgconf-pkg-config
glslc      glslc                    glslc                     shaderc       shaderc
vulkan     libvulkan-dev            vulkan-loader-devel       vulkan-devel  vulkan-devel
volk       libvulkan-volk-dev       vulkan-volk-devel         volk          -
jansson    libjansson-dev           jansson-devel             jansson       libjansson-devel
zlib       zlib1g-dev               zlib-devel                zlib          zlib-devel
png        libpng-dev               libpng-devel              libpng        libpng16-devel
jpeg       libjpeg-dev              libjpeg-turbo-devel       libjpeg-turbo libjpeg8-devel
cmocka     libcmocka-dev            libcmocka-devel           cmocka        libcmocka-devel
libdrm     libdrm-dev               libdrm-devel              libdrm        libdrm-devel
c++        g++                      gcc-c++                   gcc           gcc-c++
spirv      spirv-tools              spirv-tools-devel         spirv-tools   spirv-tools-devel
spirv-h    spirv-headers            spirv-headers-devel       spirv-headers spirv-headers
openmpi    libopenmpi-dev,openmpi-bin -                       -             -
mpich      libmpich-dev,mpich       -                         -             -
layer      vulkan-validationlayers  vulkan-validation-layers  vulkan-devel  vulkan-validationlayers
driver     mesa-vulkan-drivers      mesa-vulkan-drivers       vulkan-swrast libvulkan_lvp
fuzzer     clang,libclang-rt-dev    clang,compiler-rt         clang,compiler-rt clang
browser    chromium                 chromium                  chromium      chromium
END
}

in_words() {
  case $1 in
    compiler) say "a C compiler and the C library's headers" ;;
    cmake) say "CMake 3.22 or newer" ;;
    ninja) say "Ninja (or Make)" ;;
    glslc) say "glslc, the shader compiler" ;;
    vulkan) say "Vulkan 1.3 headers and loader" ;;
    volk) say "volk.h and volk.c, the Vulkan meta-loader" ;;
    jansson) say "Jansson, a JSON library" ;;
    zlib) say "zlib, which unpacks gzip" ;;
    png) say "libpng, which reads PNG images" ;;
    jpeg) say "libjpeg, which reads JPEG images" ;;
    cmocka) say "cmocka, the tests' framework" ;;
    libdrm) say "libdrm's headers, for a stub of an Intel GPU" ;;
    c++) say "a C++ compiler, which links what SPIRV-Tools is made of" ;;
    spirv) say "SPIRV-Tools' library, for the tests' adversary" ;;
    spirv-h) say "SPIR-V's headers, for the same" ;;
    openmpi) say "Open MPI, for runs on several devices" ;;
    mpich) say "MPICH, for the same" ;;
    layer) say "the Khronos validation layer, which the tests run under" ;;
    driver) say "a Vulkan driver" ;;
    fuzzer) say "clang with libFuzzer, for ./run test --all" ;;
    browser) say "Chromium, in which ./run test --all opens pages" ;;
    *) say "$1" ;;
  esac
}

# packages COLUMN NEED...: their packages in one line. Column 2 apt-get, 3 dnf, 4 pacman, 5 zypper.
packages() {
  column=$1
  shift
  needs_table | awk -v column="$column" -v wanted=" $* " '
    index(wanted, " " $1 " ") && $column != "-" && !seen[$column]++ {
      gsub(",", " ", $column)
      printf "%s%s", gap, $column
      gap = " "
    }'
}

find_compiler() {
  for candidate in ${CC:+"$CC"} cc gcc clang; do
    if has "$candidate"; then
      printf '%s' "$candidate"
      return
    fi
  done
}

# compiles SOURCE [FLAG...]: whether it compiles and links, which is what "present" means here.
compiles() {
  compiler=$(find_compiler)
  [ -n "$compiler" ] || return 1
  source=$1
  shift
  printf '%b\nint main(void) { return 0; }\n' "$source" >"$scratch/probe.c"
  "$compiler" ${VULKAN_SDK:+"-I$VULKAN_SDK/include" "-L$VULKAN_SDK/lib"} "$scratch/probe.c" \
    -o "$scratch/probe" "$@" >/dev/null 2>&1
}

cmake_is_recent() {
  has cmake || return 1
  cmake --version | awk 'NR == 1 { split($3, v, "."); exit v[1] * 1000 + v[2] < 3022 }'
}

# manifests PATTERN...: driver or layer manifests of that name where the Vulkan loader looks.
manifests() {
  for base in /etc/vulkan /usr/local/etc/vulkan /usr/local/share/vulkan /usr/share/vulkan \
    "${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}/vulkan" \
    ${VULKAN_SDK:+"$VULKAN_SDK/share/vulkan"}; do
    for pattern in "$@"; do
      for file in "$base"/$pattern; do
        [ ! -r "$file" ] || printf '%s\n' "$file"
      done
    done
  done
}

fuzzes() {
  echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' \
    >"$scratch/probe.c"
  has clang && clang -fsanitize=fuzzer "$scratch/probe.c" -o "$scratch/probe" >/dev/null 2>&1
}

# Ubuntu has it as a snap alone, which cannot be installed everywhere; the tests do without.
has_browser() {
  has chromium || has chromium-browser || has google-chrome ||
    { has apt-get && ! grep -qs '^ID=debian' /etc/os-release; }
}

validation_layer=VkLayer_khronos_validation.json

is_present() {
  case $1 in
    compiler) compiles '#include <stdio.h>' ;;
    cmake) cmake_is_recent ;;
    ninja) has ninja || has make ;;
    pkg-config) has pkg-config || has pkgconf ;;
    glslc) has glslc || [ -x "${VULKAN_SDK:-}/bin/glslc" ] ;;
    vulkan) compiles '#include <vulkan/vulkan.h>\nint v = VK_API_VERSION_1_3;' -lvulkan ;;
    volk) compiles '#define VK_NO_PROTOTYPES\n#include <volk.h>' ;;
    jansson) compiles '#include <jansson.h>' -ljansson ;;
    zlib) compiles '#include <zlib.h>' -lz ;;
    png) compiles '#include <png.h>' -lpng ;;
    jpeg) compiles '#include <stdio.h>\n#include <jpeglib.h>' -ljpeg ;;
    libdrm) compiles '#include <libdrm/i915_drm.h>' ;;
    c++) has c++ ;;
    spirv) compiles '#include <spirv-tools/libspirv.h>' ;;
    spirv-h) compiles '#include <spirv/unified1/spirv.h>' ;;
    fuzzer) fuzzes ;;
    browser) has_browser ;;
    cmocka) compiles '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>
#include <stdint.h>\n#include <cmocka.h>' -lcmocka ;;
    # Elsewhere than in Debian's packages the two do not lie side by side.
    openmpi | mpich) has "mpicc.$1" || ! has apt-get ;;
    layer) [ -n "${VK_LAYER_PATH:-}$(manifests "explicit_layer.d/$validation_layer")" ] ;;
    # Whether it works is asked of build/filtra once that exists.
    driver) [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}$(manifests 'icd.d/*.json')" ] ;;
  esac
}

missing_of() {
  for need in "$@"; do
    is_present "$need" || printf '%s ' "$need"
  done
}

confirm() {
  [ "$yes" = 0 ] || return 0
  [ -t 0 ] || refuse "no terminal to ask on: run that command, or ./run $command --yes"
  printf 'Install now? [Y/n] '
  read -r answer || answer=n
  case $answer in
    '' | [Yy]*) ;;
    *) refuse "not installed, so nothing was done" ;;
  esac
}

list_for_other_systems() {
  say "This system has no apt-get. Install these, then run ./run again:"
  say "  Fedora:    dnf install $(packages 3 "$@")"
  say "  Arch:      pacman -S $(packages 4 "$@")"
  say "  openSUSE:  zypper install $(packages 5 "$@")"
  case " $* " in
    *" volk "*) say "             and the header of the Vulkan meta-loader volk (volk.h, volk.c)" ;;
  esac
}

# install NEED...: says what and how, asks, installs, and looks again.
install() {
  say "Missing here:"
  for need in "$@"; do say "  - $(in_words "$need")"; done
  if ! has apt-get; then
    list_for_other_systems "$@"
    exit 2
  fi
  install_packages "$(packages 2 "$@")"
  left=$(missing_of "$@")
  [ -z "$left" ] || refuse "installed, but still not usable: $left(see $log)"
}

# install_packages NAME...: by apt-get, after asking.
install_packages() {
  list=$*
  as_root=
  if [ "$(id -u)" != 0 ]; then
    as_root=sudo
  fi
  say "To install it: ${as_root:+sudo }apt-get install --no-install-recommends $list"
  if [ -n "$as_root" ] && ! has sudo; then
    refuse "not root and no sudo here: run that command as root, then ./run again"
  fi
  confirm
  mkdir -p build
  log=build/install.log
  say "Installing (log: $log) ..."
  # A third-party source that does not answer must not stop us: the second command decides.
  $as_root apt-get -q update >"$log" 2>&1 || say "apt-get update reported errors; going on"
  # shellcheck disable=SC2086 # a list of words
  if ! $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install $list >>"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    refuse "apt-get failed, see above. Debian 12, Ubuntu 24.04 ('universe' on) and later have all"
  fi
}

require() {
  left=$(missing_of "$@")
  # shellcheck disable=SC2086 # a list of words
  [ -z "$left" ] || install $left
}

build_needs="compiler cmake ninja pkg-config glslc vulkan volk jansson zlib png jpeg"
