#!/usr/bin/env bash
# The mutated tables as Filtra and as pandas read them. Skipped where no Python has pandas.
#
#   compare_pandas.sh PROGRAM      test_mutated_tables
set -euo pipefail
python=
for candidate in "${FILTRA_PYTHON:-}" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import pandas' 2>/dev/null && python=$candidate && break
done
if [ -z "$python" ]; then
  echo "skipped: no Python has pandas (FILTRA_PYTHON names another)"
  exit 77
fi
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
FILTRA_TEST_KEEP=$kept "$1" >"$kept/log" 2>&1 || { cat "$kept/log"; exit 1; }
"$python" "$(dirname "$0")/compare_pandas.py" "$kept"
