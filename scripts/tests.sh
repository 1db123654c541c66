# shellcheck shell=sh
# Part of ./run: the passes of the test suite.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

device_tests='^(gpu|graph|ops)$'

# pass TITLE FOLDER [CTEST-ARGUMENT...]: one run of the suite, noted in the summary.
pass() {
  title=$1
  folder=$2
  shift 2
  step "Tests: $title"
  began=$(now)
  { ctest --test-dir "$folder" --parallel 2 --output-on-failure --no-tests=error "$@" 2>&1 &&
    echo passed >"$scratch/outcome" || echo FAILED >"$scratch/outcome"; } | tee "$scratch/ctest.log"
  outcome=$(cat "$scratch/outcome")
  [ "$outcome" = passed ] || failures=$((failures + 1))
  count=$(sed -n 's/.* tests failed out of \([0-9]*\).*/\1 tests/p' "$scratch/ctest.log")
  skipped=$(grep -c '\*\*\*Skipped' "$scratch/ctest.log" || true)
  [ "$skipped" = 0 ] || count="$count, $skipped skipped"
  printf '%-8s %-44s %5d s  %s\n' "$outcome" "$title" $(($(now) - began)) "$count" \
    >>"$scratch/summary"
}

skip_pass() { printf '%-8s %s: %s\n' skipped "$1" "$2" | tee -a "$scratch/summary"; }

sanitized_pass() {
  step "Building with AddressSanitizer and UBSan"
  configure build/sanitize -DBUILD_TESTING=ON -DFILTRA_SANITIZE=ON \
    -DCMAKE_C_FLAGS_RELEASE="-O1 -g" ${FILTRA_WERROR:+"-DFILTRA_WERROR=$FILTRA_WERROR"}
  compile build/sanitize
  export UBSAN_OPTIONS=print_stacktrace=1
  pass "AddressSanitizer and UBSan" build/sanitize
}

run_tests() {
  build cmocka libdrm spirv spirv-h layer driver
  require_device
  failures=0
  : >"$scratch/summary"
  system_driver=$(manifests 'icd.d/lvp_icd*.json' | head -n 1)
  if [ -n "${FILTRA_DEVICE:-}${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
    pass "the chosen device or driver, everything" build
    [ "$sanitize" = 0 ] || sanitized_pass
  else
    if [ "$(device_class)" != cpu ]; then
      export FILTRA_DEVICE=0
      pass "the best device, everything" build
      unset FILTRA_DEVICE
    fi
    if [ -n "$system_driver" ]; then
      lavapipe_passes
    else
      skip_pass "lavapipe" "not installed"
    fi
  fi
  step "Summary"
  cat "$scratch/summary"
  [ "$failures" = 0 ] || die "$failures of the passes above failed"
}

lavapipe_passes() {
  find_shims
  [ -z "$shims" ] || export FILTRA_SHIMS="$shims"
  find_newer_driver
  if [ -n "$newer_driver" ]; then
    use_driver "$newer_driver"
    export FILTRA_ICD_DIR="${newer_driver%/*}"
    pass "lavapipe from backports, everything else" build -LE '^profiles$'
  else
    use_driver "$system_driver"
    pass "lavapipe, everything else" build -LE '^profiles$'
  fi
  pass "lavapipe, op tests under each profile" build -L '^profiles$'
  export LP_NATIVE_VECTOR_WIDTH=128
  pass "lavapipe, subgroups of 4, device tests" build -L "$device_tests"
  # What few registers are given, lanes of 16, really runs there; Apple's and Intel's plans are one.
  if grep -qsw avx512f /proc/cpuinfo; then
    export LP_NATIVE_VECTOR_WIDTH=512
    pass "lavapipe, subgroups of 16, Intel's profile" build \
      -R '^profiles/(apple-m1-honeykrisp|intel-gen12)$'
  else
    skip_pass "lavapipe, subgroups of 16" "this processor has no AVX-512"
  fi
  unset LP_NATIVE_VECTOR_WIDTH
  [ "$sanitize" = 0 ] || sanitized_pass
  if [ -n "$newer_driver" ]; then
    use_driver "$system_driver"
    pass "the system's older lavapipe, device tests" build -L "$device_tests"
    pass "the older lavapipe, under each profile" build -L '^profiles$'
  else
    skip_pass "second lavapipe" "$no_newer_driver"
  fi
}
