"""``python -m pkex`` is the command line ``pkex``."""

from pkex.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
