# shellcheck shell=sh
# Part of ./run: builds for Windows x86-64 on Debian and runs the suite under Wine, all below
# build/windows (docs/windows.md).
# shellcheck disable=SC2154 # variables are shared with ./run

windows=build/windows
windows_sources="jansson libpng1.6 libjpeg-turbo cmocka"
windows_packages="gcc-mingw-w64-x86-64-posix libz-mingw-w64-dev wine wine64 xvfb dpkg-dev"

# What dpkg does not have of these packages is installed.
require_windows() {
  has apt-get || refuse "--windows needs Debian's packages: $windows_packages"
  missing=
  for package in $windows_packages; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086 # a list of words
  apt_install $missing
}

# The sources of Debian's packages, whose list apt keeps below build/windows.
fetch_sources() {
  [ ! -e "$windows/src/done" ] || return 0
  step "Fetching the sources of $windows_sources"
  rm -rf "$windows/src"
  mkdir -p "$windows/src" "$windows/apt/lists" "$windows/apt/sources"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    case $list in
      *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" ;;
      *.list) sed -n 's/^deb /deb-src /p' "$list" ;;
    esac >"$windows/apt/sources/$(basename "$list")" 2>/dev/null || true
  done
  here=$PWD/$windows
  set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$here/apt/sources" \
    -o Dir::State::lists="$here/apt/lists" -o APT::Sandbox::User=root
  apt-get -qq "$@" update || die "no list of sources"
  # A release's own package, where its update has gone.
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  for package in $windows_sources; do
    (cd "$windows/src" && { apt-get -qq "$@" source "$package" ||
      apt-get -qq "$@" -t "$release" source "$package"; } >"$package.log" 2>&1) ||
      die "no source of $package, see $windows/src/$package.log"
  done
  : >"$windows/src/done"
}

# cross NAME [CMAKE-ARGUMENT...]: builds one of them as a static library.
cross() {
  name=$1
  shift
  set -- -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DFILTRA_WINDOWS_PREFIX="$PWD/$windows/prefix" -DCMAKE_INSTALL_PREFIX="$PWD/$windows/prefix" \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
  { cmake -S "$(echo "$windows/src/$name"-*/)" -B "$windows/$name" "$@" &&
    cmake --build "$windows/$name" --parallel "$jobs" --target install; } \
    >"$windows/$name.log" 2>&1 || die "building $name failed, see $windows/$name.log"
}

build_libraries() {
  [ ! -e "$windows/prefix/done" ] || return 0
  fetch_sources
  step "Building $windows_sources for Windows"
  mkdir -p "$windows/prefix/include" "$windows/prefix/lib"
  cross jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON
  cross libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF
  cross libjpeg-turbo -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_SIMD=OFF \
    -DCMAKE_INSTALL_DEFAULT_LIBDIR=lib
  cross cmocka -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF
  mv "$windows/prefix/lib/libcmocka-static.a" "$windows/prefix/lib/libcmocka.a"
  rm -f "$windows/prefix/lib/libcmocka.dll.a"
  : >"$windows/prefix/done"
}
