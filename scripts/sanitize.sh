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
cp "$work"/build/_kernel*.so "$work/package/pkex/games/native/"

# An editable install has a finder that stands ahead of PYTHONPATH and would import its own kernel.
cat >"$work/package/sitecustomize.py" <<'END'
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")
]
END

# The interpreter itself is not instrumented, so the runtime is loaded in front of it; what Python
# keeps until it exits is no leak.
sanitized() {
    LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so) $(${CXX:-g++} -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    PYTHONPATH="$work/package" \
        "$python" "$@"
}

cd "$root"
sanitized - "$work" <<'END'
import sys

import pkex.games.native._kernel as kernel

if not kernel.__file__.startswith(sys.argv[1]):
    sys.exit(f"the kernel under test is {kernel.__file__}, not the one built with sanitizers.")
END
sanitized -m pytest -q -p no:cacheprovider --capture=sys -m "native and not nightly" tests/games "$@"
