#!/bin/sh
# Build the native kernel with the address and undefined-behaviour sanitizers in a temporary
# directory and run its tests against that build. Further arguments go to pytest.
#
#     scripts/sanitize.sh [-k name]
#
# PYTHON names the interpreter, which needs nanobind and the test dependencies; CMake and GCC are
# taken from the path.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$root" -B "$work/build" -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DPKEX_SANITIZE=address,undefined >"$work/log"
cmake --build "$work/build" --parallel 2 >>"$work/log" || { cat "$work/log"; exit 1; }

mkdir "$work/package"
cp -R "$root/src/pkex" "$work/package/pkex"
cp "$work"/build/_kernel*.so "$work/package/pkex/native/"

# The interpreter itself is not instrumented, so the runtime is loaded in front of it; what Python
# keeps until it exits is no leak.
cd "$root"
LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so) $(${CXX:-g++} -print-file-name=libubsan.so)" \
ASAN_OPTIONS=detect_leaks=0 \
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
PYTHONPATH="$work/package" \
    "$python" -m pytest -q -p no:cacheprovider --capture=sys tests/test_native.py "$@"
