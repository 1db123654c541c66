# shellcheck shell=sh
# Part of ./run test: the passes by name, and which of them a changed file can break.
# shellcheck disable=SC2034,SC2154 # variables are shared with ./run

# NAME, then what it proves.
passes_table() {
  cat <<'END'
suite       what ./run test runs: on the GPU if there is one, else on the newest lavapipe
thorough    precision, memory, interrupted runs, two ranks and more: tests labelled thorough
measuring   the commands bench, compare and tune, and matrix units that fail
kernels     op and graph tests with every kernel, also those that the device would not choose
vendors     the compilers of AMD, Intel, NVIDIA, Apple and Qualcomm: spills, costs of hot loops
sanitizers  the suite under AddressSanitizer and UBSan; with the pass thorough, that too
sanitized   the op tests under AddressSanitizer and UBSan
threads     loader, trainer and predictor under ThreadSanitizer
adversary   every kernel as the worst GPU would run it that Vulkan allows
profiles    op tests planned for the devices in profiles/
fuzzing     readers of files under libFuzzer
faults      whole runs of the command in which calls fail
ranks       processes over both MPIs
pages       the pages that the command writes, in Chromium
widths      subgroups of 8 and 16 invocations
older       the system's Mesa where a newer one runs the rest
swiftshader a CPU driver by others
END
}

# Passes of op tests.
ops="kernels vendors adversary profiles widths older swiftshader"

# A pattern, then the passes that a file whose path matches it can break besides the suite: the
# first that matches counts. A path that matches none can break everything. `*` also stands for /.
changes_table() {
  cat <<END
.ci/*                    -
docs/*                   -
*_win32.[ch]             -
*indows.*                -
run.ps1                  -
tests/windows/*          -
*.md                     -
LICENSE                  -
.clang*                  -
.git*                    -
presets/*                -
python/*                 thorough
pyproject.toml           thorough
cmake/*nstall.cmake      -
cmake/Manual.cmake       -
packaging/*              -
scripts/manual.py        -
scripts/package.sh       -
cmake/*.in               -
scripts/demo.sh          -
scripts/scaling.sh       -
scripts/keep-shaders.sh  kernels
profiles/*               thorough vendors profiles
shaders/*                thorough measuring $ops
runtime/ops/*            thorough measuring sanitized faults $ops
runtime/nn/*             thorough measuring sanitizers vendors faults ranks
runtime/model/*          thorough sanitizers vendors faults ranks fuzzing
runtime/train/ranks*     thorough sanitizers faults ranks
runtime/train/sha*       thorough sanitizers faults ranks
runtime/train/transport* thorough sanitizers faults ranks
runtime/train/config*    thorough sanitizers faults fuzzing
runtime/train/identity*  thorough sanitizers faults fuzzing
runtime/train/input*     thorough sanitizers faults fuzzing
runtime/train/preset*    thorough sanitizers faults fuzzing
runtime/train/*          thorough sanitizers threads faults
runtime/data/*           sanitizers threads faults fuzzing
runtime/base/json*       sanitizers faults fuzzing
runtime/base/lines*      sanitizers faults fuzzing
runtime/base/number*     sanitizers faults fuzzing
runtime/base/safetensors* sanitizers faults fuzzing
runtime/base/source*     sanitizers faults fuzzing
runtime/base/utf8*       sanitizers faults fuzzing
runtime/base/*           sanitizers threads faults fuzzing ranks
plugins/*                faults ranks
include/*                sanitizers faults
apps/examples/*          sanitizers
apps/filtra/bench/*      measuring sanitizers faults
apps/filtra/compare/*    measuring sanitizers faults fuzzing pages
apps/filtra/tune/*       measuring sanitizers faults
apps/filtra/check/*      thorough sanitizers older
apps/filtra/devices/*    measuring sanitizers faults
apps/filtra/kernels/*    sanitizers vendors
apps/*                   sanitizers faults fuzzing pages
tests/adversary/*        adversary
tests/api/*              sanitizers
tests/apps/*             thorough measuring sanitizers pages
tests/base/*             sanitizers
tests/data/*             sanitizers threads
tests/docs/*             -
tests/drivers/*          sanitizers older swiftshader
tests/faults/*           faults
tests/floors/*           -
tests/fuzz/*             sanitizers fuzzing
tests/golden/*           older
tests/gpu/*              sanitizers widths older swiftshader
tests/graph/*            sanitizers widths older swiftshader
tests/model/*            sanitizers
tests/nn/*               sanitizers
tests/ops/*              sanitized $ops
tests/profiles/*         profiles
tests/proofs/*           -
tests/ranks/*            ranks
tests/reference/*        sanitized $ops
tests/train/*            thorough sanitizers threads
tests/vendors/*          kernels vendors
END
}

pass_names() { passes_table | awk '{ print $1 }'; }

# The files that differ from COMMIT, also those that are not committed yet.
changed_since() {
  git diff --no-renames --name-only "$1" -- && git ls-files --others --exclude-standard
}

# The commit that the changes of a pass are counted from: --since, or the pass's line in that file.
base_of() {
  if [ -f "$since" ]; then sed -n "s/^$1 //p" "$since"; else printf '%s\n' "$since"; fi
}

# Why everything has to pass, or nothing: COMMIT cannot be compared with, or a release is made.
everything_because() {
  if [ -z "$1" ]; then
    say "$since has no line for it"
  elif ! git cat-file -e "$1^{commit}" 2>/dev/null; then
    say "there is no commit '$1' here to compare with"
  elif git diff "$1" -- include/filtra/status.h | grep -q '^[+-]#define FILTRA_VERSION_'; then
    say "the version has changed since ${1}"
  elif [ -n "$(git tag --points-at HEAD)" ]; then
    say "HEAD has the tag $(git tag --points-at HEAD | head -n 1)"
  fi
}

# "PASS PATH" for each pass that a path on standard input can break.
broken_by() {
  changes_table >"$scratch/changes"
  while IFS= read -r path; do
    broken=$(pass_names)
    while read -r pattern names; do
      # shellcheck disable=SC2254 # a pattern
      case $path in $pattern) broken=${names#-} && break ;; esac
    done <"$scratch/changes"
    for name in $broken; do printf '%s %s\n' "$name" "$path"; done
  done
}

# Sets `families` to the folders of shaders/ whose kernels differ, if nothing else that can break a
# pass of op tests does: these passes then check calls of those alone. Else to nothing.
choose_families() {
  families=
  # shellcheck disable=SC2086 # a list of words
  for name in $ops; do sed -n "s/^$name //p" "$scratch/broken"; done | sort -u >"$scratch/paths"
  if [ ! -s "$scratch/paths" ] || grep -qvE '^shaders/[a-z_]+/' "$scratch/paths" ||
    grep -qE '^shaders/(common|kept)/' "$scratch/paths"; then
    return
  fi
  found=$(cut -d / -f 2 "$scratch/paths" | sort -u | tr '\n' ' ')
  while [ "$found" != "$families" ]; do # and those that include their files
    families=$found
    found=$(for family in $families; do
      printf '%s\n' "$family"
      grep -l "^#include \"$family/" shaders/*/* | cut -d / -f 2
    done | sort -u | tr '\n' ' ')
  done
  printf 'Op tests outside the suite: checks that run kernels of %s\n' "$families"
}

# Writes to $scratch/broken a line "PASS PATH" for each pass and each path that can have broken it.
find_broken() {
  : >"$scratch/broken"
  rm -f "$scratch"/since-*
  for name in $(pass_names); do
    base=$(base_of "$name")
    list=$scratch/since-$(printf '%s' "$base" | tr / _)
    if [ ! -e "$list" ]; then
      reason=$(everything_because "$base")
      if [ -n "$reason" ]; then
        pass_names | sed "s|\$| $reason|" >"$list"
      else
        changed_since "$base" | broken_by >"$list"
      fi
    fi
    grep "^$name " "$list" >>"$scratch/broken" || true
  done
}

# The chosen of these passes: first those that have passed longest ago, else in the order given.
oldest_first() {
  for name in "$@"; do
    ! chosen "$name" || printf '%s %s\n' \
      "$(git log -1 --format=%ct "$(base_of "$name")" 2>/dev/null || echo 0)" "$name"
  done | sort -s -n -k 1,1 | cut -d ' ' -f 2
}

# Sets `passes` to the names of those that are to run. With --since it says why; the suite always
# is among them.
choose_passes() {
  resumes=1 families=
  if [ "$all" = 1 ]; then
    passes=$(pass_names | tr '\n' ' ')
  elif [ -n "$since" ]; then
    step "Passes: what has changed since $since"
    find_broken
    passes=suite
    for name in $(pass_names); do
      [ "$name" != suite ] || continue
      why=$(sed -n "s/^$name //p" "$scratch/broken" | head -n 1)
      if [ -n "$why" ]; then
        passes="$passes $name"
        printf '%-12s run: because %s\n' "$name" "$why"
      else
        printf '%-12s left: nothing of it changed since %s\n' "$name" "$(base_of "$name")"
      fi
    done
    choose_families
  else
    resumes=0
    passes=${only:-suite}
  fi
}

# chosen NAME...: whether one of them is to run.
chosen() {
  for one in "$@"; do
    case " $passes " in *" $one "*) return 0 ;; esac
  done
  return 1
}
