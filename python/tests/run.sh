#!/usr/bin/env bash
# Tests of the Python package, skipped where no Python has what they need.
#
#   run.sh headers COMPILER LIBRARY   python/filtra/_c is what the headers say
#   run.sh pytest COMPILER LIBRARY COMMAND    python/tests, with that library and command, except
#   run.sh longer COMPILER LIBRARY COMMAND    examples, documentation, others' checks of estimators
#   run.sh mistakes COMPILER LIBRARY  what users do wrong, by a library with GCC's sanitizers
#   run.sh mypy COMPILER LIBRARY      the types are complete
#   run.sh wheel COMPILER KERNELS     a wheel is built, needs nothing, and passes these tests
#
# FILTRA_PYTHON names another Python.
set -euo pipefail
what=$1 compiler=$2 library=$3
export FILTRA_COMMAND=${4:-} FILTRA_COMPILER=$compiler
cd "$(dirname "$0")/.."

# shellcheck source=tests/support/python.sh
source ../tests/support/python.sh

export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD FILTRA_LIBRARY=$library
case $what in
  headers)
    find_python
    "$python" generate.py --check
    exec "$python" check.py "$compiler" ../include
    ;;
  pytest)
    find_python numpy pytest
    exec "$python" -m pytest -q -p no:cacheprovider -k "not checks_of" \
      --ignore=tests/test_examples.py --ignore=tests/test_docs.py tests
    ;;
  longer)
    find_python numpy pytest
    exec "$python" -m pytest -q -p no:cacheprovider tests/test_examples.py tests/test_docs.py \
      tests/test_estimators.py
    ;;
  mistakes)
    find_python numpy pytest
    runtime=$("$compiler" -print-file-name=libasan.so)
    [ -e "$runtime" ] || { echo "skipped: $compiler has no libasan.so"; exit 77; }
    # What Python never frees is no leak of ours. Its arrays come from malloc, and so are watched.
    exec env LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1 \
      PYTHONMALLOC=malloc "$python" -m pytest -q -p no:cacheprovider tests/test_mistakes.py \
      tests/test_arrays.py
    ;;
  mypy)
    find_python numpy mypy
    exec "$python" -m mypy --strict --cache-dir=/dev/null filtra
    ;;
  wheel)
    find_python numpy pytest pip scikit_build_core
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    CC=$compiler FILTRA_KERNELS=$library "$python" -m pip wheel -q --no-deps \
      --no-build-isolation -w "$folder" ..
    ls -l "$folder"/*.whl
    "$python" -m zipfile -e "$folder"/*.whl "$folder"
    wanted=$(objdump -p "$folder/filtra/libfiltra.so" | awk '$1 == "NEEDED" { print $2 }')
    shown=$(nm -D --defined-only "$folder/filtra/libfiltra.so" | awk '$3 !~ /^filtra_/')
    if grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' <<<"$wanted" || [ -n "$shown" ]; then
      echo "libfiltra wants these libraries, or shows these symbols: $shown"
      exit 1
    fi
    cd "$folder"
    unset FILTRA_LIBRARY
    PYTHONPATH=$folder "$python" -m pytest -q -p no:cacheprovider -k "not checks_of" \
      --ignore="$OLDPWD/tests/test_examples.py" --ignore="$OLDPWD/tests/test_docs.py" \
      "$OLDPWD/tests"
    ;;
esac
