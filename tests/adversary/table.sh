#!/bin/sh
# table.sh REPORT...: what the adversary did, as a table for docs/adversary.md.
set -u
echo '| run | graphs | dispatches | kernels | variants | operations |' \
  'left to the driver | findings |'
echo '|---|---|---|---|---|---|---|---|'
row() {
  name=$1
  shift
  sort -u "$@" | awk '/^variant: / { variants++; if (!seen[$2]++) kernels++ }
    END { print kernels + 0, variants + 0 }' >"${TMPDIR:-/tmp}/table.$$"
  read -r kernels variants <"${TMPDIR:-/tmp}/table.$$"
  rm -f "${TMPDIR:-/tmp}/table.$$"
  cat "$@" | awk -v name="$name" -v kernels="$kernels" -v variants="$variants" '/^done: / {
      graphs += $2; dispatches += $4; operations += $6; large += $8; findings += $11 }
    END { printf "| %s | %d | %d | %d | %d | %.1f G | %d | %d |\n", name, graphs, dispatches,
      kernels, variants, operations / 1e9, large, findings }'
}
for report; do row "$(basename "$report" .txt)" "$report"; done
row all "$@"
