# shellcheck shell=sh
# twin_of FILTRA PROFILE: the profile listed before it, or "no profile", that has the same plan on
# the device at hand; nothing where there is none. Fails where PROFILE is not known.
twin_of() {
  plans=$("$1" devices --list-profiles --caps "") || return 1
  own=$("$1" devices --caps "" | sed -n 's/^ *plan *//p')
  printf '%s\n' "$plans" | grep -A 2 -x "@$2" >&2 || {
    echo "there is no profile @$2" >&2
    return 1
  }
  printf '%s\n' "$plans" | awk -v name="@$2" -v own="    here: $own" '
    BEGIN { first[own] = "no profile" }
    /^@/ { profile = $1 }
    /^    here: / {
      if (profile == name) { print first[$0]; exit }
      if (!($0 in first)) first[$0] = profile
    }'
}
