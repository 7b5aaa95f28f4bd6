#!/bin/sh
# Check the C++ sources: their layout (clang-format), warnings of the compiler as errors, clang-tidy,
# and that the code of an instruction set has nothing that the linker could take for another one.
#
#     scripts/check_native.sh
#
# PYTHON names the interpreter, which needs nanobind; CMake, a compiler, nm and c++filt are taken
# from the path. clang-format and clang-tidy are installed in an environment of their own below
# build/, at versions that say the same everywhere.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
tools="$root/build/native-lint"
versions="clang-format==23.1.3 clang-tidy==23.1.4"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

if [ "$(cat "$tools/versions" 2>/dev/null)" != "$versions" ]; then
    rm -rf "$tools"
    "$python" -m venv "$tools"
    # shellcheck disable=SC2086
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        $versions
    echo "$versions" >"$tools/versions"
fi

"$tools/bin/clang-format" --dry-run --Werror src/pkex/games/native/*.cpp src/pkex/games/native/*.hpp

cmake -S . -B "$work" -DPython_EXECUTABLE="$python" -DPKEX_STRICT=ON \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/log"
cmake --build "$work" --parallel 2 >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# The same code without levels and vector types, as other compilers get it: for its warnings alone.
c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
    -DPKEX_NAMESPACE=pkex_base -DPKEX_LEVEL=base -DPKEX_PORTABLE src/pkex/games/native/kernel.cpp \
    src/pkex/games/native/*_kernel.cpp

printf '%s\n' src/pkex/games/native/*.cpp | xargs -n 1 -P 2 "$tools/bin/clang-tidy" --quiet -p "$work" \
    --extra-arg=-Wno-unknown-warning-option >"$work/tidy" 2>&1 || { cat "$work/tidy"; exit 1; }

# A weak symbol is one that several files may define and of which the linker keeps any. Compiled for
# a newer processor, it must not serve code for older ones: it belongs to the namespace of its
# instruction set. Inlining hides such symbols from the objects that are shipped, so the sources are
# compiled without it as well.
"$python" - "$work" <<'END'
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

work = Path(sys.argv[1])
commands = json.loads((work / "compile_commands.json").read_text())
levels = [command for command in commands if "PKEX_NAMESPACE" in command["command"]]
if not levels:
    sys.exit("no object of the build is the hot loop of an instruction set.")


def strangers(namespace: str, path: Path) -> str:
    """Return the weak symbols that stand outside the namespace, in readable form."""
    listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-2:] for line in listed.splitlines()]
    own = re.compile(rf"_Z(Z|GV|T[VTIS])*NK?{len(namespace)}{namespace}")
    # the compiler's pointer to the runtime's handler of exceptions is the same everywhere
    weak = [
        name
        for kind, name in symbols
        if kind in "WVu" and not own.match(name) and name != "DW.ref.__gxx_personality_v0"
    ]
    lines = "".join(f"{name}\n" for name in weak)
    return subprocess.run(["c++filt"], input=lines, capture_output=True, text=True).stdout


found = ""
for level in levels:
    words = shlex.split(level["command"])
    namespace = next(w.split("=")[1] for w in words if w.startswith("-DPKEX_NAMESPACE="))
    shipped = work / words[words.index("-o") + 1]
    plain = shipped.with_suffix(".plain.o")
    words[words.index("-o") + 1] = str(plain)
    subprocess.run([*words, "-O0", "-fno-inline"], cwd=work, check=True)
    found += strangers(namespace, shipped) + strangers(namespace, plain)
if found:
    sys.exit(
        "the hot loop of an instruction set has weak symbols outside its namespace; write them "
        f"without templates and inline functions of others:\n{found}"
    )
print(f"layout, warnings, clang-tidy and symbols of {len(levels)} objects of instruction sets: nothing found.")
END
