#!/bin/sh
# Proves that tests notice the defects that were once found: each patch here brings one back, and
# the case that the patch names must fail then, which passes without it.
#   tests/proofs/run.sh [NAME...]    those of NAME.patch, all where nothing is said
#   tests/proofs/run.sh --list       the defects and their cases
#   tests/proofs/run.sh --check      only whether all patches apply and name a case that there is
# A patch begins with what the defect is, then "test: AREA/NAME" and "case: FUNCTION". All is done
# in build/proofs, with the files that git knows as they are now. The driver is the one that the
# environment names.
set -eu
cd "$(dirname "$0")/../.."
folder=$PWD/build/proofs
patches=tests/proofs

field() { sed -n "s/^$1: //p" "$patches/$2.patch"; }

# What stands before "test:", in one line.
defect() { sed '/^test: /,$d' "$patches/$1.patch" | tr '\n' ' ' | sed 's/ $//'; }

apply() {
  into=$1
  shift
  patch -p1 -s -f -F0 -d "$into" "$@"
}

list() {
  printf '| defect | test | case |\n|---|---|---|\n'
  for name; do
    printf '| %s | %s | %s |\n' "$(defect "$name")" "$(field test "$name")" "$(field case "$name")"
  done
}

check() {
  command -v patch >/dev/null || { echo "SKIPPED: there is no patch (Debian: patch)" && exit 77; }
  bad=0
  for name; do
    apply . --dry-run <"$patches/$name.patch" || {
      echo "$name: the patch does not apply: bring the defect back by hand, write it anew"
      bad=1
    }
    grep -qE "^TEST(_WITH)?\($(field case "$name")[,)]" "tests/$(field test "$name" |
      sed 's,/,/test_,').c" || {
      echo "$name: its test has no case $(field case "$name")"
      bad=1
    }
  done
  echo "$# looked at"
  return "$bad"
}

# The tree as it is now. Only files that differ are written, so that little is built again; what an
# earlier run left patched is among them.
copy_tree() {
  mkdir -p "$folder/source"
  tree=$(git -c user.name=proofs -c user.email=proofs stash create)
  GIT_INDEX_FILE=$folder/index git --work-tree="$folder/source" read-tree --reset -u "${tree:-HEAD}"
}

configure() {
  [ ! -e "$folder/build/CMakeCache.txt" ] || return 0
  set --
  [ ! -e build/shaders/kernels.c ] || set -- "-DFILTRA_KERNELS=$PWD/build"
  generator='Unix Makefiles'
  ! command -v ninja >/dev/null || generator=Ninja
  cmake -S "$folder/source" -B "$folder/build" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_TESTING=ON -DCMAKE_C_FLAGS_RELEASE=-O1 "$@" >"$folder/build.log"
}

build() { cmake --build "$folder/build" --parallel 2 --target filtra_tests >"$folder/build.log"; }

# Runs a proof's case and says how it ended: passed, failed, skipped, or lost, as where the program
# crashed or hung before cmocka could say anything.
run_case() {
  of=$(field case "$1")
  log=$folder/$1.log
  FILTRA_TEST_CASE=$of timeout 300 "$folder/build/tests/filtra_tests" "$(field test "$1")" \
    >"$log" 2>&1 && code=0 || code=$?
  outcome=$(sed -n "s/^\[ *\([A-Z]*\) *\] $of\$/\1/p" "$log" | tail -n 1)
  case $outcome,$code in
    OK,0) echo passed ;;
    SKIPPED,0) echo skipped ;;
    FAILED,[1-9]*) echo failed ;;
    *) echo "lost, exit code $code" ;;
  esac
}

# The same with the defect, which is taken back in the end.
prove() {
  apply "$folder/source" <"$patches/$1.patch"
  if build; then
    run_case "$1"
  else
    cp "$folder/build.log" "$folder/$1.log"
    echo "does not build"
  fi
  apply "$folder/source" -R <"$patches/$1.patch"
}

show() { printf '%-24s %-20s %-36s %s\n' "$1" "$(field test "$1")" "$(field case "$1")" "$2"; }

option=
case ${1:-} in --*) option=$1 && shift ;; esac
[ $# != 0 ] || for patch in "$patches"/*.patch; do set -- "$@" "$(basename "$patch" .patch)"; done
case $option in
  --list) list "$@"; exit ;;
  --check) check "$@"; exit ;;
  --*) sed -n '2,7s/^# //p' "$0"; exit 2 ;;
esac

check "$@"
copy_tree
configure
build || {
  tail -n 40 "$folder/build.log"
  exit 1
}
ready='' proven=0 skipped=0
for name; do
  outcome=$(run_case "$name")
  case $outcome in
    passed) ready="$ready $name" ;;
    skipped) skipped=$((skipped + 1)) && show "$name" skipped ;;
    *) show "$name" "$outcome without the defect, see $folder/$name.log" ;;
  esac
done
for name in $ready; do
  outcome=$(prove "$name")
  case $outcome in
    failed) proven=$((proven + 1)) && show "$name" "fails with the defect" ;;
    *) show "$name" "$outcome with the defect, see $folder/$name.log" ;;
  esac
done
echo "$proven of $# defects are noticed, $skipped cannot be tested here"
[ $((proven + skipped)) = $# ]
