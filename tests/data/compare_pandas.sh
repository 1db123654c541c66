#!/usr/bin/env bash
# The mutated tables as Filtra and as pandas read them. Skipped where no Python has pandas.
#
#   compare_pandas.sh PROGRAM      filtra_tests
set -euo pipefail
# shellcheck source=tests/support/python.sh
source "$(dirname "$0")/../support/python.sh"
find_python pandas
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
FILTRA_TEST_KEEP=$kept "$1" data/mutated_tables >"$kept/log" 2>&1 || { cat "$kept/log"; exit 1; }
"$python" "$(dirname "$0")/compare_pandas.py" "$kept"
