#!/usr/bin/env bash
# Builds the Debian packages of the checkout's commit in fresh systems, and tries them there:
#
#   packaging/try-debian.sh [FOLDER]
#
# In minimal Debian 12 and 13 the source package is built without a network, twice and in different
# folders, whose results must be the same bytes; lintian looks at it. Then the packages alone are
# installed into another minimal system, where the tests of packaging/debian/tests run as
# autopkgtest runs them. FOLDER, by default new and below /tmp, keeps systems, packages and logs.
#
# Needs root, debootstrap and a network (scripts/systems.sh).
# shellcheck disable=SC2016,SC2317 # text for the other shell; functions are called by report
set -euo pipefail
folder=$(realpath -m "${1:-$(mktemp -d)}")
mkdir -p "$folder"
cd "$(dirname "$0")/.."
# shellcheck source=scripts/systems.sh
. scripts/systems.sh

# report WHAT COMMAND...: runs it, and says how it went.
report() {
  local what=$1
  shift
  if "$@"; then echo "  $what: passed"; else
    echo "  $what: FAILED"
    failed=1
  fi
}

build_as() { # build_as SYSTEM FOLDER-WITHIN
  rm -rf "${folder:?}/$1/$2"
  mkdir -p "$folder/$1/$2"
  cp "$folder"/source/filtra_* "$folder/$1/$2/"
  inside "$1" "cd /$2; dpkg-source -x filtra_*.dsc tree >/dev/null; cd tree
    dpkg-buildpackage -us -uc -b" --net >"$folder/$1.${2%%/*}.log" 2>&1
}

same_bytes() { # same_bytes SYSTEM
  local package
  for package in "$folder/$1"/first/*.deb; do
    cmp "$package" "$folder/$1/second/other/${package##*/}" || return 1
  done
}

look_at() { # look_at SYSTEM
  inside "$1" "cd /first; lintian --fail-on error,warning \\
    --suppress-tags initial-upload-closes-no-bugs filtra_*.changes"
}

# run_test SYSTEM TEST DEPENDS: in a system that has nothing but what the test depends on.
run_test() {
  local system=$1-$2
  rm -rf "${folder:?}/$system"
  cp -a "$folder/$1-bare" "$folder/$system"
  mkdir "$folder/$system/packages" "$folder/$system/scratch"
  cp "$folder/$1"/first/*.deb "$folder/$system/packages/"
  cp "packaging/debian/tests/$2" "$folder/$system/"
  inside "$system" "cd /packages; rm -f -- *-dbgsym*; apt-get -qq update; list=
    for package in $3; do
      file=\$(compgen -G \"\${package}_*.deb\" || :)
      list=\"\$list \${file:+./}\${file:-\$package}\"
    done
    apt-get -qq -y --no-install-recommends install \$list ./libfiltra[0-9]*.deb
    AUTOPKGTEST_TMP=/scratch /$2" >"$folder/$system.log" 2>&1 || return 1
  rm -rf "${folder:?}/$system"
}

try() { # try SYSTEM RELEASE
  local test depends
  make_root "$1" "$2" apt
  make_root "$1-bare" "$2" apt
  mkdir -p "$folder/$1/needs/debian"
  cp "$folder"/source/filtra-*/debian/control "$folder/$1/needs/debian/"
  inside "$1" 'apt-get -qq update
    apt-get -qq -y --no-install-recommends install build-essential lintian
    apt-get -qq -y --no-install-recommends build-dep /needs' >"$folder/$1.needs.log" 2>&1
  echo "$2:"
  report "built without a network" build_as "$1" first
  report "built again" build_as "$1" second/other
  report "the same bytes" same_bytes "$1"
  report lintian look_at "$1"
  while read -r test depends; do
    report "$test, $folder/$1-$test.log" run_test "$1" "$test" "$depends"
  done < <(sed -n 's/^Tests: //p; s/^Depends: //p' packaging/debian/tests/control |
    paste -d ' ' - - | tr -d ,)
}

failed=0
packaging/debian.sh "$folder/source" >/dev/null
try debian12 bookworm
try debian13 trixie
exit $failed
