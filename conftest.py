"""Leave the doctests of the native kernel out where it was not compiled."""

try:
    import pkex.native  # noqa: F401
except ImportError:
    collect_ignore_glob = ["src/pkex/native/*.py"]
