# shellcheck shell=sh
# Part of ./run: the passes of the test suite.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

device_tests='^(gpu|graph|ops)$'
# What SwiftShader's faults leave (docs/devices.md).
swiftshader_tests='^(drivers/faults|gpu/(device|memory|plan)|graph/(elements|graph))$'
swiftshader_ops='agf|broadcast|cache|dropout|elementwise|fourier|kernel|kernel_polynomial|linear'
swiftshader_ops="^ops/($swiftshader_ops|scale_norm|slice|tuning_file)\$"
# Labels of what the suite leaves to passes of ./run test --all. What is thorough is in the suite
# there, and left out by ./run test. What is in ranks, ranks-all has, too, which --all runs.
left_out='profiles|vendors|adversary-all|fuzzing|faults-all|ranks-all'

# What ./run test --all has passed is kept in build/passed, so that it goes on there when it is
# started again. The first line says for which programs and which choice of device that holds.
begin_passes() {
  failures=0
  deadline=
  [ -z "$minutes" ] || deadline=$(($(now) + 60 * minutes))
  : >"$scratch/summary"
  programs=$(find build -name CMakeFiles -prune -o -type f \( -path build/filtra -o \
    -name 'libfiltra.so*' -o -path 'build/tests/*test_*' \) -print | sort | xargs cat | cksum)
  here="$programs ${FILTRA_DEVICE:-} ${VK_DRIVER_FILES:-} ${VK_ICD_FILENAMES:-}"
  [ "$(head -n 1 build/passed 2>/dev/null)" != "$here" ] || return 0
  printf '%s\n' "$here" >build/passed
  rm -rf build/seen
}

over() { [ -n "$deadline" ] && [ "$(now)" -ge "$deadline" ]; }

# due TITLE: whether a pass is to be run now; the summary says why not.
due() {
  if [ "$all" = 1 ] && grep -qxF "$1" build/passed; then
    printf '%-8s %s\n' earlier "$1" >>"$scratch/summary"
    return 1
  fi
  if over; then
    printf '%-8s %s: the %d minutes are over\n' left "$1" "$minutes" >>"$scratch/summary"
    return 1
  fi
}

# pass TITLE FOLDER [CTEST-ARGUMENT...]: one run of the suite, noted in the summary.
pass() {
  title=$1
  folder=$2
  shift 2
  due "$title" || return 0
  step "Tests: $title"
  began=$(now)
  { ctest --test-dir "$folder" --parallel 2 --output-on-failure --no-tests=error "$@" 2>&1 &&
    echo passed >"$scratch/outcome" || echo FAILED >"$scratch/outcome"; } | tee "$scratch/ctest.log"
  outcome=$(cat "$scratch/outcome")
  if [ "$outcome" != passed ]; then
    failures=$((failures + 1))
  elif [ "$all" = 1 ]; then # else it was not the whole of it
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

# remembering COMMAND...: checks of ops that have passed are not made again with the same calls, be
# it under another profile (tests/support/seen.h).
remembering() {
  [ "$all" = 0 ] || export FILTRA_TEST_SEEN="$PWD/build/seen"
  "$@"
  unset FILTRA_TEST_SEEN
}

# suite TITLE FOLDER: what ./run test runs; where --all does, ops for narrow vectors.
suite() {
  if [ "$all" = 0 ]; then
    pass "$1" "$2" -LE "^($left_out)\$"
    return
  fi
  pass "$1" "$2" -LE "^($left_out|ops)\$"
  narrow_pass "$1, ops" "$2" -L '^ops$' -LE "^($left_out)\$"
}

# threadless COMMAND...: lavapipe works in the thread that submits. Two tests run side by side;
# where the driver has threads of its own, even one, a quarter of the time goes into waking them.
# Most of what --all adds gives workgroups their threads.
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

# Freed memory is held back for 1 MB only: with the usual 256 a driver's compiler of a hundred
# kernels takes up to 24 GB, and even with 8 pages that come and go take half of the time. Drivers
# and kernels are not sanitized, so of kernels only those run that the device would choose; what
# chooses others is in train/memory.
sanitized_pass() {
  if ! over; then
    step "Building with AddressSanitizer and UBSan"
    configure build/sanitize -DBUILD_TESTING=ON -DFILTRA_SANITIZE=ON "-DFILTRA_KERNELS=$PWD/build" \
      -DCMAKE_C_FLAGS_RELEASE="-O1 -g" ${FILTRA_WERROR:+"-DFILTRA_WERROR=$FILTRA_WERROR"}
    compile build/sanitize
  fi
  export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=quarantine_size_mb=1
  FILTRA_TEST_QUICK=1
  export FILTRA_TEST_QUICK
  threadless suite "AddressSanitizer and UBSan" build/sanitize
  unset FILTRA_TEST_QUICK
}

# The driver's own threads are not built with it, and no business of ours.
threads_pass() {
  threads="threads under ThreadSanitizer"
  due "$threads" || return 0
  step "Building with ThreadSanitizer"
  configure build/threads -DBUILD_TESTING=ON "-DFILTRA_KERNELS=$PWD/build" \
    -DCMAKE_C_FLAGS=-fsanitize=thread -DCMAKE_C_FLAGS_RELEASE="-O1 -g"
  cmake --build build/threads --parallel "$jobs" --target test_data_loader test_train_threads \
    test_train_predictor || die "compiling failed, see above"
  TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.txt"
  export TSAN_OPTIONS
  pass "$threads" build/threads -R '^(data/loader|train/(threads|predictor))$'
  unset TSAN_OPTIONS
}

run_tests() {
  set -- cmocka libdrm c++ spirv spirv-h openmpi mpich layer driver
  [ "$all" = 0 ] || set -- "$@" fuzzer browser
  build "$@"
  require_device
  begin_passes
  if [ "$all" = 1 ]; then
    left_out="$left_out|ranks"
  else
    left_out="$left_out|thorough"
    FILTRA_TEST_QUICK=1
    export FILTRA_TEST_QUICK
  fi
  keep_compiled usual
  system_driver=$(manifests 'icd.d/lvp_icd*.json' | head -n 1)
  if [ -n "${FILTRA_DEVICE:-}${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
    suite "the chosen device or driver" build
    [ "$all" = 0 ] || more_passes
  elif [ "$(device_class)" != cpu ]; then
    FILTRA_DEVICE=0
    export FILTRA_DEVICE
    pass "the best device" build -LE "^($left_out)\$"
    unset FILTRA_DEVICE
    [ "$all" = 0 ] || lavapipe_passes
  else
    lavapipe_passes
  fi
  step "Summary"
  cat "$scratch/summary"
  [ "$failures" = 0 ] || die "$failures of the passes above failed"
  [ "$all" = 0 ] || grep -q '^left ' "$scratch/summary" || rm -f build/passed
}

# What --all adds on any driver, what finds most first.
more_passes() {
  sanitized_pass
  threads_pass
  pass "the adversary, every kernel" build -C all -L '^adversary-all$'
  remembering narrow_pass "under each device's profile" build -L '^profiles$'
  pass "readers under libFuzzer, failing calls, ranks" build -C all \
    -L '^(fuzzing|faults-all|ranks-all)$'
}

lavapipe_passes() {
  [ -n "$system_driver" ] || {
    skip_pass "lavapipe" "not installed"
    return
  }
  find_newer_driver
  use_driver "${newer_driver:-$system_driver}"
  find_shims
  [ -z "$shims" ] || export FILTRA_SHIMS="$shims"
  remembering threadless suite "lavapipe" build
  [ "$all" = 1 ] || return 0
  [ -z "$newer_driver" ] || export FILTRA_ICD_DIR="${newer_driver%/*}"
  pass "vendors' compilers" build -L '^vendors$'
  more_passes
  width_passes
  if [ -n "$newer_driver" ]; then
    use_driver "$system_driver"
    narrow_pass "the system's older lavapipe, golden files" build -R '^(apps/golden|drivers/faults)'
    # Of kernels those that it would choose; its successor above had all, and here are more of them.
    FILTRA_TEST_QUICK=1
    export FILTRA_TEST_QUICK
    narrow_pass "the system's older lavapipe, device tests" build -L "$device_tests"
    unset FILTRA_TEST_QUICK
    narrow_pass "the older lavapipe, the smallest device" build -R '^profiles/minimum/'
  else
    skip_pass "second lavapipe" "$no_newer_driver"
  fi
  find_swiftshader
  if [ -n "$swiftshader" ]; then
    use_driver "$swiftshader"
    pass "SwiftShader, kernels that it can run" build -R "$swiftshader_tests|$swiftshader_ops"
  else
    skip_pass "SwiftShader" "only Debian's chromium-common brings it"
  fi
}

width_passes() {
  # Kernels that a device with such subgroups chooses: of others only chains and those for matrix
  # units have subgroup operations, and these run under their profiles.
  FILTRA_TEST_QUICK=1
  export FILTRA_TEST_QUICK
  pass "lavapipe, subgroups of 8, op tests" build -L '^ops$' -E '^newest/'
  # With few registers chains have lanes of 16, which run there.
  if grep -qsw avx512f /proc/cpuinfo; then
    export LP_NATIVE_VECTOR_WIDTH=512
    keep_compiled 512
    pass "lavapipe, subgroups of 16, device tests" build -L "$device_tests" \
      -E '^newest/'
    export FILTRA_CAPS=@intel-gen12
    pass "lavapipe, subgroups of 16, Intel's chains" build -R '^ops/dhhp$'
    unset FILTRA_CAPS LP_NATIVE_VECTOR_WIDTH
    keep_compiled usual
  else
    skip_pass "lavapipe, subgroups of 16" "this processor has no AVX-512"
  fi
  unset FILTRA_TEST_QUICK
}
