#!/usr/bin/env bash
# Manual pages and completions: manual.sh FILTRA FOLDER. All that the help names is there, what
# reads the files accepts them, and bash, and fish where it is, complete by them.
set -euo pipefail
filtra=$1 folder=$2
fail() {
  echo "$*" >&2
  exit 1
}

# Options as the help indents them, found in another way than manual.py does.
check_page() { # words of the command
  local page=$folder/man1/filtra${*:+-$(IFS=-; echo "$*")}.1 option
  [ -s "$page" ] || fail "there is no $page"
  for option in $("$filtra" "$@" --help |
    sed -nE 's/^(  |      )(-[a-z], )?--([a-z-]+).*/\3/p'); do
    grep -qF -- "\\-\\-${option//-/\\-}\\fR" "$page" || fail "$page lacks --$option"
  done
}
check_page
for command in $("$filtra" --help | awk '/^  [a-z]+ / { print $1 }'); do check_page "$command"; done
for action in inspect listops pathfinder; do check_page data $action; done

if command -v man >/dev/null && man --warnings -l "$folder/man1/filtra.1" >/dev/null 2>&1; then
  for page in "$folder"/man1/*.1; do
    said=$(MANROFFSEQ='' man --warnings -l "$page" 2>&1 >/dev/null)
    [ -z "$said" ] || fail "$page: $said"
  done
fi

# shellcheck source=/dev/null
. "$folder/bash/filtra"
compopt() { :; }
completes() { # WHAT WORD...
  local what=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _filtra filtra "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || :
  [ "${COMPREPLY[*]}" = "$what" ] || fail "$*: ${COMPREPLY[*]}, not $what"
}
completes train filtra tr
completes "inspect listops pathfinder" filtra data ""
completes --seed filtra data listops --s
completes "--preset --precision" filtra train --pre
completes "fp32 bf16 fp16" filtra train --precision ""
completes "" filtra train --data ""
completes "" filtra nonsense --

! command -v zsh >/dev/null || zsh -n "$folder/zsh/_filtra"
if command -v fish >/dev/null; then
  found=$(fish --no-config -c "source '$folder/fish/filtra.fish'
    complete -C 'filtra data listops --s'" | cut -f 1)
  [ "$found" = --seed ] || fail "fish: $found, not --seed"
fi
