#!/bin/sh
# Which passes a change chooses (scripts/passes.sh), in a repository made for it: passes.sh ROOT.
set -eu
command -v git >/dev/null || exit 77
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stamp=1000000000 all=0 since='' only=''
say() { printf '%s\n' "$*"; }
step() { :; }
# shellcheck source=scripts/passes.sh
. "$root/scripts/passes.sh"
fail() {
  say "$*" >&2
  exit 1
}

# Rows name passes that there are.
changes_table | while read -r pattern names; do
  for name in ${names#-}; do
    pass_names | grep -qxF "$name" || fail "row $pattern names the pass '$name', which is none"
  done
done

cd "$scratch"
git init -q repository
cd repository
commit() {
  git add -A
  stamp=$((stamp + 1))
  GIT_COMMITTER_DATE="@$stamp +0000" git -c user.name=t -c user.email=t@t -c commit.gpgsign=false \
    commit -qm "$1"
}
mkdir -p include/filtra shaders/agf docs runtime/train
printf '#define FILTRA_VERSION_MINOR 1\n' >include/filtra/status.h
for file in shaders/agf/a.comp docs/a.md runtime/train/a.c; do echo one >$file; done
commit first
first=$(git rev-parse HEAD)
since=$first

# expect WHAT PASS... : those that are chosen since that commit, besides the suite.
expect() {
  what=$1
  shift
  choose_passes >"$scratch/said"
  [ "$passes" = "suite${*:+ $*}" ] || fail "$what: chose '$passes' and not 'suite $*'"
  [ "$(grep -cE ' (run|left): ' "$scratch/said")" -eq "$(($(pass_names | wc -l) - 1))" ] ||
    fail "$what: not each pass is told of"
}
rest=$(pass_names | grep -vx suite | tr '\n' ' ')
rest=${rest% }

expect "no change"
echo two >docs/a.md
expect "a page, not committed"
commit page
page=$(git rev-parse HEAD)
echo two >runtime/train/a.c
expect "the trainer" thorough sanitizers threads faults
git checkout -q .
git mv runtime/train/a.c shaders/agf/b.comp
# shellcheck disable=SC2086 # a list of names
expect "a file that moved" \
  thorough measuring kernels vendors sanitizers threads adversary profiles faults widths older \
  swiftshader
grep -q '^profiles  *run: because shaders/agf/b.comp$' "$scratch/said" || fail "no reason is given"
git reset -q --hard
printf '#include "agf/a.comp"\n' >shaders/gemm.glsl
mkdir shaders/other
mv shaders/gemm.glsl shaders/other
commit "a family that includes another"
since=$(git rev-parse HEAD)
echo three >shaders/agf/a.comp
choose_passes >"$scratch/said"
[ "$families" = "agf other " ] || fail "a shader: families are '$families'"
echo three >include/filtra/new.h
choose_passes >"$scratch/said"
[ "$families" = "agf other " ] || fail "a shader and a header: families are '$families'"
mkdir -p runtime/ops && echo three >runtime/ops/b.c
choose_passes >"$scratch/said"
[ -z "$families" ] || fail "an op: families are '$families'"
rm -r include/filtra/new.h runtime/ops
git reset -q --hard
since=$first
git reset -q --hard "$first"
echo one >unheard-of
# shellcheck disable=SC2086
expect "a path in no row" $rest
rm unheard-of
git reset -q --hard "$first"
{
  pass_names | grep -vx -e ranks -e threads | sed "s/\$/ $first/"
  echo "threads $page"
} >"$scratch/passed"
since=$scratch/passed
expect "a pass that has no line" ranks
echo two >runtime/train/a.c
expect "passes at commits of their own" thorough sanitizers threads faults ranks
[ "$(oldest_first thorough threads sanitizers ranks | tr '\n' ' ')" = \
  "ranks thorough sanitizers threads " ] || fail "not the oldest first"
git checkout -q .
since=0123456789012345678901234567890123456789
# shellcheck disable=SC2086
expect "a commit that is not here" $rest
since=$first
printf '#define FILTRA_VERSION_MINOR 2\n' >include/filtra/status.h
# shellcheck disable=SC2086
expect "a new version" $rest
git checkout -q .
git tag v1
# shellcheck disable=SC2086
expect "a tag" $rest
