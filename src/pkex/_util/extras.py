"""Libraries that are extras: imported where they are used, with a sentence where they are not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["import_optional", "install_command"]


def import_optional(module: str, requirement: str) -> Any:
    """Import a module that is needed only here, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ImportError(
            f"this needs {module}, which is not installed: {install_command(requirement)}."
        ) from error


def install_command(requirement: str) -> str:
    """Return the command that installs a requirement, such as an extra of pkex, where pkex is from.

    ``pip install .`` leaves a note of the folder that it installed from (PEP 610). Extras then come
    from there, too, as a package index need not have pkex.

    Examples
    --------
    >>> install_command("pandas")
    'pip install "pandas"'
    """
    if not requirement.startswith("pkex["):
        return f'pip install "{requirement}"'
    origin = _origin()
    url, extra = str(origin.get("url", "")), requirement.removeprefix("pkex")
    if not url:
        return f'pip install "{requirement}"'
    if not url.startswith("file://"):
        vcs = origin.get("vcs_info", {}).get("vcs")
        return f'pip install "{requirement} @ {f"{vcs}+" if vcs else ""}{url}"'
    from pathlib import Path
    from urllib.request import url2pathname

    place = Path(url2pathname(url.removeprefix("file://")))
    if not place.exists():
        return f'pip install ".{extra}", in a copy of the repository of pkex'
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f'pip install {editable}"{place}{extra}"'


def _origin() -> dict[str, Any]:
    """Return the note of where pkex was installed from; nothing where it came from an index."""
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads

    try:
        noted: dict[str, Any] = loads(distribution("pkex").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return noted
