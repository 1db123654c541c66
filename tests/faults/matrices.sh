#!/usr/bin/env bash
# The self-test of matrix units finds what goes wrong with them, and keeps it: on the newest
# lavapipe, which has some, in a command that spoils them (inject.c). Skipped where that driver is
# not.
#
#   matrices.sh FILTRA_FAULTY
set -uo pipefail
here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
faulty=$1
failed=0

# filtra ARGUMENT...: what it prints goes to $scratch/out and $scratch/err.
filtra() {
  local command=$1
  shift
  "$here/../vendors/newest.sh" "$faulty" "$command" --device cpu --caps matrix=tuned \
    --cache-dir "$scratch/cache" "$@" >"$scratch/out" 2>"$scratch/err"
}

# fail WHAT: it is not as it should be.
fail() {
  echo "matrices: $1"
  sed 's/^/  /' "$scratch/out" "$scratch/err"
  failed=1
}

# tune: the command that makes the test by itself, with nothing to tune.
printf '{"mixer": "fnet", "data": "%s"}' "$scratch/data" >"$scratch/run.json"
tune() { filtra tune --ops chain --config "$scratch/run.json"; }

# says TEXT: standard error is one line, with that text in it. says_nothing WHY: there is none.
says() {
  [ "$(wc -l <"$scratch/err")" = 1 ] || fail "one line should be said"
  grep -qF "are off: the self-test $1" "$scratch/err" || fail "should be said: $1"
}
says_nothing() { [ ! -s "$scratch/err" ] || fail "$1"; }
shows() {
  grep "^     matrices  " "$scratch/out" | grep -qF "$1" || fail "devices should show: $1"
}

filtra devices
if [ $? = 77 ]; then
  cat "$scratch/out"
  exit 77
fi
shows "off: not tested yet"
"$faulty" data listops --out "$scratch/data" --train 8 --val 8 --test 8 --min-length 4 \
  --max-length 9 >/dev/null

# layer FILE: what a layer gives, without the time that it took.
layer() {
  filtra check --precision fp16 --json "$here/../golden/agf_layer_n33c16.safetensors" ||
    fail "the layer should be right"
  grep -v '"seconds"' "$scratch/out" >"$1"
}

# A crash, found by filtra tune, which goes on; then it is known.
FAULT_CRASH=attention/forward_matrix.f16 tune || fail "filtra tune should go on after a crash"
says "crashed (Aborted)"
tune || fail "filtra tune should go on without matrix units"
says_nothing "what is known should not be tested again"
filtra devices && shows "off: the self-test crashed (Aborted)"
layer "$scratch/off"

# One bit of one element; a hang.
FAULT_BIT=11 filtra devices --test-matrices && fail "one wrong bit should be found"
says "found wrong numbers in F16 products"
shows "off: the self-test found wrong numbers in F16 products"
FAULT_HANG=gemm/matrix.f16 filtra devices --test-matrices --seconds 2 &&
  fail "a hang should be found"
says "took longer than 2 s"

# Another driver version is tested anew, all of it, and what passes is known as well.
sed -i 's/"driver_version": /"driver_version": 1/' "$scratch"/cache/matrices-*.json
FAULT_USED=$scratch/used tune || fail "filtra tune should test another driver version"
says_nothing "it should pass"
for kernel in {attention,plaplacian}/{forward,backward_key,backward_query}; do
  grep -qx "${kernel}_matrix.f16" "$scratch/used" || fail "the self-test should run $kernel"
done
FAULT_CRASH=gemm/matrix.f16 tune || fail "filtra tune should go on with what passed"
says_nothing "what passed should not be tested again"
filtra devices && shows "self-test passed, tuned for 0 keys"

# Trusted, but not measured: the results are those without matrix units.
layer "$scratch/trusted"
cmp "$scratch/off" "$scratch/trusted" || fail "results should be those without matrix units"

# And what they do at most, and products on them, can be measured.
filtra bench --quick --ops gemm --precision fp16 --out "$scratch/bench.json" ||
  fail "filtra bench should measure what passed"
grep -q '"shape": "8x8x8"' "$scratch/bench.json" || fail "matrix units should have a peak"
[ "$(grep -c '"matrix_flops"' "$scratch/bench.json")" = 3 ] || fail "they should have products"
! grep '"error"' "$scratch/bench.json" || fail "nothing should be missing"
exit "$failed"
