"""Leave the doctests of the native kernel out where it was not compiled."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pkex.native._kernel") else ["src/pkex/native/*.py"]
