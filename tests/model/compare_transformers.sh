#!/usr/bin/env bash
# Exported models with filters, as Filtra and as PyTorch compute them. Skipped where no Python has
# torch and transformers.
#
#   compare_transformers.sh PROGRAM      test_filters
set -euo pipefail
python=
for candidate in "${FILTRA_PYTHON:-}" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import torch, transformers' 2>/dev/null &&
    python=$candidate && break
done
if [ -z "$python" ]; then
  echo "skipped: no Python has torch and transformers (FILTRA_PYTHON names another)"
  exit 77
fi
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
FILTRA_TEST_KEEP=$kept "$1" >"$kept/log" 2>&1 || { cat "$kept/log"; exit 1; }
HF_HOME=$kept/.cache HF_HUB_OFFLINE=1 "$python" "$(dirname "$0")/compare_transformers.py" "$kept" \
  "$(dirname "$0")/../golden/pretrained"
