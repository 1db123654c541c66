# shellcheck shell=sh
# Part of ./run: builds for Windows x86-64 on Debian and runs the suite under Wine, all below
# build/windows (docs/windows.md).
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

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
  install_packages $missing
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

# The headers of Vulkan and volk are the same for every system.
build_windows() {
  build_libraries
  step "Building for Windows x86-64"
  cp -r /usr/include/vulkan /usr/include/vk_video /usr/include/volk.[ch] "$windows/prefix/include/"
  kernels=$(sed -n 's/^FILTRA_KERNELS:PATH=//p' build/CMakeCache.txt)
  configure "$windows/filtra" -DBUILD_TESTING=ON -DFILTRA_KERNELS="${kernels:-$PWD/build}" \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows.cmake" \
    -DFILTRA_WINDOWS_PREFIX="$PWD/$windows/prefix"
  compile "$windows/filtra"
}

# Wine's Vulkan, which hands calls on to this system's driver, needs a display. Its services outlive
# programs, and would keep pipes of this shell open: all of it writes to files.
start_wine() {
  export WINEPREFIX="$PWD/$windows/wine" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
  export DISPLAY=:$((100 + $$ % 1000))
  Xvfb "$DISPLAY" -screen 0 640x480x24 >"$windows/xvfb.log" 2>&1 &
  display=$!
  trap 'wineserver -k >/dev/null 2>&1; kill $display 2>/dev/null; rm -rf "$scratch"' EXIT
  wineserver -p >"$windows/wineboot.log" 2>&1 || true # that of this folder runs already
  wineboot -i >>"$windows/wineboot.log" 2>&1 || die "Wine does not start, see $windows/wineboot.log"
  printf 'export VK_DRIVER_FILES=%s VK_ICD_FILENAMES=%s\n' "${VK_DRIVER_FILES:-}" \
    "${VK_DRIVER_FILES:-}" >"$windows/filtra/driver"
}

# in_wine ARGUMENT...: the command as a Windows program.
in_wine() { wine "$windows/filtra/filtra.exe" "$@" >>"$windows/command.log" 2>&1; }

same() {
  if cmp -s "$1" "$2"; then say "the same bytes: $3"; else
    say "DIFFERENT: $3 ($1, $2)"
    failures=$((failures + 1))
  fi
}

# What the DLL gives is what the library gives, and it needs the system's DLLs alone.
check_dll() {
  x86_64-w64-mingw32-objdump -p "$windows/filtra/filtra.dll" >"$scratch/dll"
  sed -n '/Ordinal.Name Pointer/,/^$/s/.*[] ]\(filtra_[a-z0-9_]*\)$/\1/p' "$scratch/dll" | sort \
    >"$scratch/dll-names"
  nm -D --defined-only build/libfiltra.so | sed 's/.* //; s/@.*//' | sort >"$scratch/names"
  same "$scratch/dll-names" "$scratch/names" "$(wc -l <"$scratch/names") names in DLL and library"
  others=$(sed -n 's/.*DLL Name: //p' "$scratch/dll" |
    grep -viE '^(kernel32|advapi32|shell32|msvcrt)\.dll$' || true)
  [ -z "$others" ] || { say "DIFFERENT: filtra.dll needs $others" && failures=$((failures + 1)); }
}

# train_short COMMAND... FOLDER: the demo's training, but shorter.
train_short() {
  "$@" --data "$windows/demo/listops" --steps 60 --seed 1 --set schedule=one_cycle \
    --set warmup_steps=6 --set learning_rate=0.003 --set clip_norm=1 --set checkpoint_every=10
}

# Models are the same bits on both systems, and a run that was begun on one ends on the other.
compare_systems() {
  step "The demo's data and models on both systems"
  rm -rf "$windows/demo"
  mkdir -p "$windows/demo"
  : >"$windows/command.log"
  for system in linux windows; do
    if [ $system = linux ]; then run=build/filtra; else run=in_wine; fi
    $run data listops --out "$windows/demo/listops" --train 20000 --val 500 --test 1000 \
      --min-length 3 --max-length 24 --max-depth 4 --max-args 4 --seed 1
    cat "$windows"/demo/listops/* | cksum >"$windows/demo/listops-$system"
    [ $system = windows ] || rm -rf "$windows/demo/listops"
  done >>"$windows/command.log" 2>&1
  same "$windows/demo/listops-linux" "$windows/demo/listops-windows" "ListOps data"
  for mixer in agf softmax; do
    train_short build/filtra train --mixer $mixer --out "$windows/demo/$mixer-linux" \
      >>"$windows/command.log" 2>&1
    train_short in_wine train --mixer $mixer --out "$windows/demo/$mixer-windows"
    same "$windows/demo/$mixer-linux/model.safetensors" \
      "$windows/demo/$mixer-windows/model.safetensors" "the model $mixer"
  done
  resume_elsewhere
}

resume_elsewhere() {
  for system in linux windows; do
    run="$windows/demo/begun-on-$system"
    if [ $system = linux ]; then first="build/filtra" then=in_wine; else
      first="wine $windows/filtra/filtra.exe" then=build/filtra
    fi
    # shellcheck disable=SC2086 # one or two words
    train_short timeout -s TERM 4 $first train --mixer agf --out "$run" \
      --set log_every=1 >>"$windows/command.log" 2>&1 || true
    [ ! -e "$run/result.json" ] || {
      say "NOT COMPARED: the run on $system ended before it was stopped"
      failures=$((failures + 1))
    }
    $then train --resume "$run" >>"$windows/command.log" 2>&1
    same "$windows/demo/agf-linux/model.safetensors" "$run/model.safetensors" \
      "the model agf, begun on $system and ended on the other"
  done
}

windows_tests() {
  failures=0
  require_windows
  built=filtra_command
  build driver cmocka
  compile build libfiltra
  if [ -z "${VK_DRIVER_FILES:-}" ]; then
    find_newer_driver
    [ -z "$newer_driver" ] || use_driver "$newer_driver"
  fi
  build_windows
  keep_compiled windows
  start_wine
  check_dll
  compare_systems
  step "Tests as Windows programs, in $windows/tests.log"
  export FILTRA_TEST_QUICK=1 FILTRA_TEST_F32=1 LP_NUM_THREADS=0
  began=$(now)
  ctest --test-dir "$windows/filtra" --parallel 2 --output-on-failure --timeout 600 \
    -LE '^thorough$' >"$windows/tests.log" 2>&1 || failures=$((failures + 1))
  sed -n '/tests passed/,$p' "$windows/tests.log"
  step "Left out, and why"
  grep -v '^#' tests/windows/left_out.txt
  grep -aoh '^SKIPPED: Windows has no .*' "$windows/filtra/Testing/Temporary/LastTest.log" |
    sort | uniq -c
  say "$(($(now) - began)) s; docs/windows.md says what only Windows itself can show"
  [ "$failures" = 0 ] || die "$failures of these failed, see $windows/"
}
