"""Leave doctests of the native kernel out where it was not compiled; tell what failed in helpers.

Assertions in modules that tests share are told with their values, as those in tests are.
"""

import pytest

pytest.register_assert_rewrite("cases", "explanations", "native_games", "removal_games")

try:
    import pkex.games.native  # noqa: F401
except ImportError:
    collect_ignore_glob = ["src/pkex/games/native/*.py"]
