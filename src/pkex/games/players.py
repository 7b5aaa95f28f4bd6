"""Players: columns, or groups of columns that act as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pkex._util.validation import brief, is_index

__all__ = ["Groups", "parse_groups"]

Column = str | int
Groups = Mapping[str, Iterable[Column]] | Sequence[Iterable[Column]]


def parse_groups(
    groups: Groups | None, names: tuple[str, ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Return the columns and the name of each player, in the order of their first columns."""
    index = {name: i for i, name in enumerate(names)}
    if groups is None:
        named: list[tuple[str | None, Iterable[Column]]] = []
    elif isinstance(groups, Mapping):
        named = list(groups.items())
    elif isinstance(groups, Sequence) and not isinstance(groups, str):
        named = [(None, members) for members in groups]
    else:
        raise TypeError(
            "groups must map names to columns, or be a list of lists of columns; got "
            f"{type(groups).__name__}."
        )
    players: list[tuple[tuple[int, ...], str]] = []
    grouped: set[int] = set()
    for name, members in named:
        columns = _group_columns(members, index)
        twice = grouped.intersection(columns)
        if twice:
            raise ValueError(
                f"column {names[min(twice)]!r} is in more than one group; a column can belong to "
                "one group only."
            )
        grouped.update(columns)
        title = " + ".join(names[c] for c in columns) if name is None else str(name)
        players.append((columns, title))
    players += [((i,), name) for name, i in index.items() if i not in grouped]
    players.sort(key=lambda player: min(player[0]))
    titles = tuple(title for _, title in players)
    if len(set(titles)) < len(titles):
        twice_named = next(title for title in titles if titles.count(title) > 1)
        raise ValueError(f"two features are named {twice_named!r}; give the group another name.")
    return tuple(columns for columns, _ in players), titles


def _group_columns(members: Iterable[Column], index: Mapping[str, int]) -> tuple[int, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise TypeError(f"a group must be a list of column names or indices, got {brief(members)}.")
    columns: list[int] = []
    for member in members:
        if isinstance(member, str):
            if member not in index:
                raise ValueError(
                    f"groups name the column {member!r}; the columns are {brief(list(index))}."
                )
            columns.append(index[member])
        elif is_index(member):
            if not 0 <= member < len(index):
                raise ValueError(
                    f"groups name column {member}, but the columns are numbered 0 to "
                    f"{len(index) - 1}."
                )
            columns.append(int(member))
        else:
            raise TypeError(f"a group's columns must be names or indices, got {brief(member)}.")
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"a group must hold at least one column, each once; got {brief(columns)}.")
    return tuple(sorted(columns))
