#!/usr/bin/env bash
# Exported models with filters, as Filtra and as PyTorch compute them. Skipped where no Python has
# torch and transformers.
#
#   compare_transformers.sh PROGRAM      filtra_tests
set -euo pipefail
# shellcheck source=tests/support/python.sh
source "$(dirname "$0")/../support/python.sh"
find_python torch transformers
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
FILTRA_TEST_KEEP=$kept "$1" model/filters >"$kept/log" 2>&1 || { cat "$kept/log"; exit 1; }
HF_HOME=$kept/.cache HF_HUB_OFFLINE=1 "$python" "$(dirname "$0")/compare_transformers.py" "$kept" \
  "$(dirname "$0")/../golden/pretrained"
