#!/bin/sh
# golden.sh FILTRA ADVERSARY-FILTRA VARIANTS FILE...: each golden file on the driver at hand. For
# one that fails it says which of its kernels the driver crashes on, compiled alone, and what
# faults of drivers (docs/devices.md) these could meet; where none crashes, the numbers are wrong.
# The adversary, which runs the same calls, says which kernels a file takes.
set -u
filtra=$1 adversary=$2 variants=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export FILTRA_DEVICE=cpu FILTRA_CACHE_DIR=
for file; do
  name=$(basename "$file" .safetensors)
  if "$filtra" check --quiet "$file" >/dev/null 2>&1; then
    echo "$name: passes"
    continue
  fi
  rm -f "$scratch/report"
  FILTRA_ADVERSARY="seed=0 report=$scratch/report" "$adversary" check --quiet "$file" \
    >/dev/null 2>&1 && judge='right by the adversary' || judge='WRONG by the adversary'
  crashes=$("$variants" <"$scratch/report" 2>/dev/null | sed -n 's/^crash *//p' | sort -u |
    sed 's/ value_after_loop//' | tr '\n' ';')
  echo "$name: ${crashes:-wrong numbers}${crashes:+ crash} ($judge)"
done
