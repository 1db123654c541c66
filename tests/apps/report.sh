#!/bin/sh
# A whole report of this machine's device: filtra compare reads it, and it names no person,
# machine or folder. Minutes.
#   report.sh FILTRA FOLDER
set -eu
[ -z "${FILTRA_TEST_QUICK:-}" ] || { echo "left out of a quick run"; exit 77; }
rm -rf "$2"
mkdir -p "$2"
cd "$2"
"$1" check --report report.json --seconds 5 --cache-dir "$2/cache" --quiet
# Without this beginning the command would refuse to replace the file.
sed -n 2p report.json | grep '^  "format": "filtra-check-' >/dev/null
"$1" compare report.json | grep -F 'golden' -i >/dev/null
"$1" compare --json report.json | grep -F '"golden_passed"' >/dev/null
for word in "$PWD" "$HOME" "$(hostname)" "$(id -un)@" '"uuid"' "$2/cache"; do
  case $word in '' | / | @) continue ;; esac
  if grep -wF -- "$word" report.json; then
    echo "the report has \"$word\""
    exit 1
  fi
done
