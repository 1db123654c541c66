# shellcheck shell=sh
# Part of ./run: runs the suite, and the passes that passes.sh names.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

device_tests='^(gpu|graph|ops)$'
# What SwiftShader's faults leave (docs/devices.md).
swiftshader_tests='^(drivers/faults|gpu/(device|memory|plan)|graph/(elements|graph))$'
swiftshader_ops='agf|broadcast|cache|dropout|elementwise|fourier|kernel|kernel_polynomial|linear'
swiftshader_ops="^ops/($swiftshader_ops|scale_norm|slice|tuning_file)\$"
page_tests='^apps/(analyze|browser|compare|report|summary)$'
measuring_tests='^(apps/(bench|compare|tune)|faults/matrices)$'
# Labels that only passes run. What is thorough has passes by subject, too: see thorough_passes.
left_out='profiles|vendors|adversary-all|fuzzing|faults-all|ranks-all|thorough'

# build/passed lists the passes of --all and --since that have passed, so that these go on there
# when they are started again. Its first line says for which programs, sources and choice of device.
begin_passes() {
  failures=0
  deadline=
  [ -z "$minutes" ] || deadline=$(($(now) + 60 * minutes))
  : >"$scratch/summary"
  programs=$(find build -name CMakeFiles -prune -o -type f \( -path build/filtra -o \
    -name 'libfiltra.so*' -o -path 'build/tests/filtra_tests' \) -print | sort | xargs cat | cksum)
  sources=$({ git rev-parse HEAD && git diff HEAD && git status --porcelain; } 2>/dev/null | cksum)
  here="$programs $sources $families ${FILTRA_DEVICE:-} ${VK_DRIVER_FILES:-} ${VK_ICD_FILENAMES:-}"
  if [ "$resumes" = 1 ] && [ "$(head -n 1 build/passed 2>/dev/null)" = "$here" ]; then return; fi
  printf '%s\n' "$here" >build/passed
  rm -rf build/seen
}

over() { [ -n "$deadline" ] && [ "$(now)" -ge "$deadline" ]; }

# due TITLE: whether a pass is to be run now; the summary says why not.
due() {
  if [ "$resumes" = 1 ] && grep -qxF "$1" build/passed; then
    printf '%-8s %s\n' earlier "$1" >>"$scratch/summary"
    return 1
  fi
  if over; then
    printf '%-8s %s: the %d minutes are over\n' left "$1" "$minutes" >>"$scratch/summary"
    return 1
  fi
}

# pass TITLE FOLDER [CTEST-ARGUMENT...]: one run of the suite, noted in the summary. When the
# minutes are over, ctest ends the tests that run, up to a second early, and calls it a timeout.
pass() {
  title=$1
  folder=$2
  shift 2
  due "$title" || return 0
  step "Tests: $title"
  began=$(now)
  [ -z "$deadline" ] || set -- --stop-time "$(date -d "@$deadline" +%H:%M:%S)" "$@"
  { ctest --test-dir "$folder" --parallel 2 --output-on-failure --no-tests=error "$@" 2>&1 &&
    echo passed >"$scratch/outcome" || echo FAILED >"$scratch/outcome"; } | tee "$scratch/ctest.log"
  outcome=$(cat "$scratch/outcome")
  if [ "$outcome" = FAILED ] && [ -n "$deadline" ] && [ "$(now)" -ge $((deadline - 5)) ] &&
    ! grep -qE '\*\*\*(Failed|Exception)' "$scratch/ctest.log"; then
    outcome=left
  elif [ "$outcome" != passed ]; then
    failures=$((failures + 1))
  else
    printf '%s\n' "$title" >>build/passed
  fi
  count=$(sed -n 's/.* tests failed out of \([0-9]*\).*/\1 tests/p' "$scratch/ctest.log")
  skipped=$(grep -c '\*\*\*Skipped' "$scratch/ctest.log" || true)
  [ "$skipped" = 0 ] || count="$count, $skipped skipped"
  printf '%-8s %-44s %5d s  %s\n' "$outcome" "$title" $(($(now) - began)) "$count" \
    >>"$scratch/summary"
}

# For vectors of 128 bits lavapipe compiles in two thirds of the time. Kernels are the same, but
# their subgroups have 4 invocations instead of 8; width_passes has those of 8 and 16. Other drivers
# do not know the variable.
narrow_pass() {
  compiled=$MESA_SHADER_CACHE_DIR
  export LP_NATIVE_VECTOR_WIDTH=128
  keep_compiled 128
  pass "$@"
  unset LP_NATIVE_VECTOR_WIDTH
  export MESA_SHADER_CACHE_DIR="$compiled"
}

# remembering COMMAND...: checks of ops that have passed are not repeated with the same calls, not
# even under another profile (tests/support/seen.h).
remembering() {
  export FILTRA_TEST_SEEN="$PWD/build/seen"
  "$@"
  unset FILTRA_TEST_SEEN
}

# threadless COMMAND...: lavapipe works in the thread that submits. Two tests run side by side; with
# threads of the driver's own, even one, a quarter of the time goes into waking them. Most passes
# besides the suite do give workgroups their threads.
threadless() {
  LP_NUM_THREADS=0
  export LP_NUM_THREADS
  "$@"
  unset LP_NUM_THREADS
}

# keep_compiled NAME: kernels that a driver has compiled are kept between tests, passes and starts.
# Mesa tells drivers, processors and GALLIVM_PERF apart, but not LP_NATIVE_VECTOR_WIDTH.
keep_compiled() {
  export MESA_SHADER_CACHE_DIR="$PWD/build/compiled/$1"
  mkdir -p "$MESA_SHADER_CACHE_DIR"
}

skip_pass() { printf '%-8s %s: %s\n' skipped "$1" "$2" | tee -a "$scratch/summary"; }

# suite TITLE: op tests run for narrow vectors and in F32. lavapipe optimizes no kernels.
suite() {
  export FILTRA_TEST_QUICK=1 FILTRA_TEST_F32=1 GALLIVM_PERF=nopt
  pass "suite, $1" build -LE "^($left_out|ops)\$"
  narrow_pass "suite, op tests" build -L '^ops$' -LE "^($left_out)\$"
  unset FILTRA_TEST_QUICK FILTRA_TEST_F32 GALLIVM_PERF
}

# Freed memory is held back for 1 MB only: with the usual 256 a driver's compiler of a hundred
# kernels takes up to 24 GB, and even with 8 pages that come and go take half of the time. Drivers
# and kernels are not sanitized, so only those kernels run that the device would choose, and none is
# optimized; what chooses others is in train/memory.
sanitizer_pass() { # sanitizer_pass TITLE COMMAND...
  due "$1" || return 0
  shift
  step "Building with AddressSanitizer and UBSan"
  configure build/sanitize -DBUILD_TESTING=ON -DFILTRA_SANITIZE=ON "-DFILTRA_KERNELS=$PWD/build" \
    -DCMAKE_C_FLAGS_RELEASE="-O1 -g" ${FILTRA_WERROR:+"-DFILTRA_WERROR=$FILTRA_WERROR"}
  compile build/sanitize
  export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=quarantine_size_mb=1 FILTRA_TEST_QUICK=1
  export GALLIVM_PERF=nopt
  "$@"
  unset FILTRA_TEST_QUICK GALLIVM_PERF
}

# The driver's own threads are not built with it, and no business of ours.
threads_pass() {
  due "threads" || return 0
  step "Building with ThreadSanitizer"
  configure build/threads -DBUILD_TESTING=ON "-DFILTRA_KERNELS=$PWD/build" \
    -DCMAKE_C_FLAGS=-fsanitize=thread -DCMAKE_C_FLAGS_RELEASE="-O1 -g"
  compile build/threads filtra_tests
  export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.txt"
  pass "threads" build/threads -C each -R '^(data/loader|train/(threads|batcher|predictor))$'
  unset TSAN_OPTIONS
}

run_tests() {
  choose_passes
  set -- cmocka libdrm c++ spirv spirv-h openmpi mpich layer driver
  ! chosen fuzzing || set -- "$@" fuzzer
  ! chosen pages || set -- "$@" browser
  build "$@"
  require_device
  begin_passes
  keep_compiled usual
  system_driver=$(manifests 'icd.d/lvp_icd*.json' | head -n 1)
  if [ -n "${FILTRA_DEVICE:-}${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
    ! chosen suite || suite "the chosen device or driver"
    run_passes
    for name in vendors widths older swiftshader; do
      ! chosen $name || skip_pass "$name" "it is for lavapipe, and another driver was chosen"
    done
  elif [ "$(device_class)" != cpu ]; then
    export FILTRA_DEVICE=0
    ! chosen suite || pass "suite, the best device" build -LE "^($left_out)\$"
    unset FILTRA_DEVICE
    [ "$passes" = suite ] || lavapipe_passes
  else
    lavapipe_passes
  fi
  step "Summary"
  cat "$scratch/summary"
  [ "$resumes" = 0 ] || [ -n "$(git status --porcelain)" ] || note_passed
  [ "$failures" = 0 ] || die "$failures of the passes above failed"
  [ "$resumes" = 0 ] || grep -q '^left ' "$scratch/summary" || rm -f build/passed
}

# Writes to build/passes what .ci/passed should be after this run: a pass that was run to its end is
# at HEAD, others are where they were.
note_passed() {
  {
    sed -n '/^static /p' .ci/passed
    for name in $(pass_names); do
      if grep -qE "^(passed|earlier) +$name(,| |\$)" "$scratch/summary" &&
        ! grep -qE "^(FAILED|left|skipped) +$name(,|:| )" "$scratch/summary"; then
        printf '%s %s\n' "$name" "$(git rev-parse HEAD)"
      else
        sed -n "/^$name /p" .ci/passed
      fi
    done
  } >build/passes
  say "What has passed where, for the next change: cp build/passes .ci/passed"
}

# `ranks` has ranks/ranks and more.
thorough_passes() {
  others="ops|faults|shaders"
  ! chosen ranks || others="$others|ranks"
  pass "thorough" build -L '^thorough$' -LE "^($others)\$" -E "$measuring_tests"
  pass "thorough, optimized kernels" build \
    -R '^((nn|model)/|apps/golden_(first|second|embedded)$)' -LE '^thorough$'
}

# run_passes [NAME...]: these, and those that any driver can run; what finds most first.
run_passes() {
  export FILTRA_TEST_FAMILIES="$families"
  for each in $(oldest_first thorough measuring kernels sanitizers sanitized threads adversary \
    profiles fuzzing faults ranks pages "$@"); do
    run_pass "$each"
  done
}

run_pass() {
  case $1 in
    thorough) threadless thorough_passes ;;
    measuring) threadless pass "measuring" build -R "$measuring_tests" ;;
    kernels) remembering threadless narrow_pass "kernels" build -L '^(ops|graph|shaders)$' ;;
    vendors) pass "vendors" build -L '^vendors$' ;;
    sanitizers) # of thorough tests as many as run without
      set -- -LE "^($left_out|ops)\$"
      ! chosen thorough || set -- -LE "^(${left_out%|thorough}|ops)\$"
      chosen measuring || set -- "$@" -E "$measuring_tests"
      threadless sanitizer_pass "sanitizers" pass "sanitizers" build/sanitize "$@"
      ;;
    sanitized) threadless sanitizer_pass "sanitized, op tests" narrow_pass "sanitized, op tests" \
      build/sanitize -L '^ops$' ;;
    threads) threads_pass ;;
    adversary) pass "adversary" build -C all -L '^adversary-all$' ;;
    profiles) remembering narrow_pass "profiles" build -L '^profiles$' ;;
    fuzzing) pass "fuzzing" build -L '^fuzzing$' ;;
    faults) pass "faults" build -C all -L '^faults(-all)?$' -E "$measuring_tests" ;;
    ranks) pass "ranks" build -C all -L '^ranks-all$' ;;
    pages) pass "pages" build -R "$page_tests" ;;
    widths) width_passes ;;
    older) older_passes ;;
    swiftshader) swiftshader_pass ;;
  esac
}

lavapipe_passes() {
  [ -n "$system_driver" ] || {
    skip_pass "lavapipe" "not installed"
    return
  }
  find_newer_driver
  use_driver "${newer_driver:-$system_driver}"
  if chosen measuring kernels vendors; then
    find_shims
    [ -z "$shims" ] || export FILTRA_SHIMS="$shims"
  fi
  ! chosen suite || threadless suite "lavapipe"
  [ -z "$newer_driver" ] || export FILTRA_ICD_DIR="${newer_driver%/*}"
  run_passes vendors widths older swiftshader
}

older_passes() {
  [ -n "$newer_driver" ] || {
    skip_pass "older" "$no_newer_driver"
    return
  }
  use_driver "$system_driver"
  narrow_pass "older, golden files" build -R '^(apps/golden|drivers/faults)'
  # Of kernels those that it would choose; its successor above had all, and here are more of them.
  export FILTRA_TEST_QUICK=1
  narrow_pass "older, device tests" build -L "$device_tests"
  unset FILTRA_TEST_QUICK
  narrow_pass "older, the smallest device" build -R '^profiles/minimum/'
  use_driver "$newer_driver"
}

swiftshader_pass() {
  find_swiftshader
  if [ -n "$swiftshader" ]; then
    use_driver "$swiftshader"
    pass "swiftshader, kernels that it can run" build -R "$swiftshader_tests|$swiftshader_ops"
    use_driver "${newer_driver:-$system_driver}"
  else
    skip_pass "swiftshader" "only Debian's chromium-common brings it"
  fi
}

width_passes() {
  # Kernels that a device with such subgroups chooses: of others only chains and those for matrix
  # units have subgroup operations, and these run under their profiles.
  export FILTRA_TEST_QUICK=1
  pass "widths, subgroups of 8, op tests" build -L '^ops$' -E '^newest/'
  # With few registers chains have lanes of 16, which run there.
  if grep -qsw avx512f /proc/cpuinfo; then
    export LP_NATIVE_VECTOR_WIDTH=512
    keep_compiled 512
    pass "widths, subgroups of 16, device tests" build -L "$device_tests" -E '^newest/'
    export FILTRA_CAPS=@intel-gen12
    pass "widths, subgroups of 16, Intel's chains" build -R '^ops/dhhp$'
    unset FILTRA_CAPS LP_NATIVE_VECTOR_WIDTH
    keep_compiled usual
  else
    skip_pass "widths, subgroups of 16" "this processor has no AVX-512"
  fi
  unset FILTRA_TEST_QUICK
}
