#!/bin/sh
# Measures what several ranks gain on this machine's CPU, one thread each, against one: tokens a
# second and the parts of a step, to which docs/scaling.md's model is fitted. Runs take turns, so
# that what else the machine does meets all of them; medians are printed.
#
#   scripts/scaling.sh TEXT [ROUNDS [RANKS...]]     default 3 rounds of 1, 2 and 4 ranks
#
# TEXT is a text file such as tiny Shakespeare. MPIRUN names another mpirun, FILTRA another command,
# PRESET another recipe, STEPS how many steps a run has (40).
set -eu
[ $# -ge 1 ] || {
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0" >&2
  exit 2
}
text=$1
rounds=${2:-3}
shift
[ $# = 0 ] || shift
[ $# != 0 ] || set -- 1 2 4
filtra=${FILTRA:-build/filtra}
mpirun=${MPIRUN:-mpirun}
steps=${STEPS:-40}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if $mpirun --version 2>&1 | grep -qi 'open.\{0,1\}mpi\|open-mpi\|prte'; then
  mpirun="$mpirun --oversubscribe --bind-to none"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export LP_NUM_THREADS=1
head -c 200000 "$text" >"$scratch/text.txt" # the validation behind the last step is of its tenth

for round in $(seq "$rounds"); do
  for ranks; do
    folder=$scratch/run-$ranks-$round
    $mpirun -n "$ranks" "$filtra" train --device cpu --preset "${PRESET:-tinyshakespeare-gfsa}" \
      --data "$scratch/text.txt" --steps "$steps" --set warmup_steps=1 --set log_every="$steps" \
      --out "$folder" >"$scratch/log" 2>&1 || {
      cat "$scratch/log" >&2
      exit 1
    }
    # A line {"key":number,...} as "key number ..."
    grep tokens_per_second "$folder/metrics.jsonl" | tail -n 1 | tr -d '{}"' | tr ':,' '  ' |
      sed "s/^/$ranks /" >>"$scratch/steps"
  done
done
for ranks; do
  [ "$ranks" = 1 ] || $mpirun -n "$ranks" "$filtra" bench --ranks --json | tr -d ' \n{}"' |
    sed "s/.*latency_us:/$ranks /; s/,gigabytes_per_second:/ /; s/\$/\n/" >>"$scratch/messages"
done
parameters=$(tr -d ' "' <"$scratch/run-$1-1/about.json" | tr ',' '\n' | sed -n 's/^parameters://p')

awk -v P="$parameters" -v messages="$scratch/messages" -v list="$*" '
function median(values,    n, a, i, j, t) {
  n = split(values, a, " ")
  for (i = 2; i <= n; i++)
    for (j = i; j > 1 && a[j - 1] + 0 > a[j] + 0; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
  return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}
{
  for (i = 2; i < NF; i += 2) all[$1, $i] = all[$1, $i] " " $(i + 1)
}
END {
  n = split(list, ranks, " ")
  while ((getline line <messages) > 0) { split(line, m, " "); L[m[1]] = m[2]; B[m[1]] = m[3] }
  one = median(all[ranks[1], "milliseconds"]); base = median(all[ranks[1], "tokens_per_second"])
  printf "%d parameters; milliseconds of a step, medians\n\n", P
  print "ranks  tokens/s  speed-up    step  compute  messages  hidden  shown  other" \
    "  latency us  GB/s"
  for (i = 1; i <= n; i++) {
    R = ranks[i]; T = median(all[R, "milliseconds"]); tokens = median(all[R, "tokens_per_second"])
    E = median(all[R, "exchange_milliseconds"]) + 0; h = median(all[R, "exchange_hidden"]) + 0
    C = one * ranks[1] / R; shown = E * (1 - h); other = T - C - shown
    printf "%5d  %8.0f  %8.2f  %6.1f  %7.1f  %8.2f  %5.0f%%  %5.2f  %5.1f  %10.1f  %4.1f\n",
      R, tokens, tokens / base, T, C, E, 100 * h, shown, other, L[R], B[R]
    if (R > 1) { bytes += 4 * P * (2 + 3 / R); rest += other }
  }
  print ""
  if (rest > 0)
    printf "Host copies, fitted: H = %.2f GB/s\n", bytes / rest / 1e6
  else
    print "Host copies: nothing is left for them; steps of several ranks took less than their share"
}' "$scratch/steps"
