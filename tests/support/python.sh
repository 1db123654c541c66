# shellcheck shell=bash disable=SC2034 # `python` is for the script that sources this
# Finds a Python for tests that need one; tests source this. FILTRA_PYTHON names another.

# find_python MODULE...: sets `python` to the first of 3.9 or later that has these modules; without
# one the test is skipped.
find_python() {
  local candidate
  for candidate in "${FILTRA_PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$candidate" ] &&
      "$candidate" - "$@" <<'EOF' 2>/dev/null && python=$candidate && return
import importlib, sys
assert sys.version_info >= (3, 9)
for name in sys.argv[1:]:
    importlib.import_module(name)
EOF
  done
  echo "skipped: no Python of 3.9 or later has ${*:-its own modules} (FILTRA_PYTHON names another)"
  exit 77
}
