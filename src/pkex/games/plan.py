"""`Plan`: the games of a kernel before they see data, made once and used for many calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pkex._util.types import Players
from pkex.games.backend import Backend, game_class
from pkex.games.hierarchy import Hierarchy
from pkex.games.measures import Shapley
from pkex.games.powers import PowerGame
from pkex.games.protocols import Game, Measure
from pkex.games.rules import FULL_PRECISION, Ladder
from pkex.games.single_player import SinglePlayer, as_single_player
from pkex.games.tree_powers import TreePowerGame
from pkex.kernels.normal_form import Power, Term

__all__ = ["Kept", "Plan"]

_LOOSEST = 1e-3  # accepted of a term, however small its weight


class Kept:
    """The games of a plan for each backend; made again after pickling."""

    def __init__(self) -> None:
        self.games: dict[Backend, tuple[Game, ...]] = {}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


@dataclass(frozen=True, eq=False)
class Plan:
    """The terms of a kernel, the players of their games, and what is integrated.

    Made by `Plan.of`.

    Attributes
    ----------
    terms : tuple of Term
        Those that are games of several players.
    singles : tuple of SinglePlayer
        Those of a single player, of which there is nothing to integrate.
    players : tuple of tuples of int
        The columns of each player; every column belongs to exactly one.
    tol : float or None
        Accepted relative error per pair (see `pkex.games.rules`); full double precision if None.
    measure : Measure
    general : bool
        Whether absent players have factors of their own; else these are 1.
    powers : tuple of PowerGame
        Powers of sums over columns, which are no product games.
    """

    terms: tuple[Term, ...]
    singles: tuple[SinglePlayer, ...]
    players: Players
    tol: float | None
    measure: Measure
    general: bool
    powers: tuple[PowerGame, ...] = ()
    _kept: Kept = field(default_factory=Kept, repr=False)

    @classmethod
    def of(
        cls,
        terms: tuple[Term, ...],
        players: Players,
        tol: float | None = None,
        *,
        measure: Measure | None = None,
        general: bool = False,
        apart: bool = True,
        powers: Sequence[Power] = (),
    ) -> Plan:
        """Return the plan of a kernel's normal form.

        With `apart` terms of a single player are kept apart; else they are games like the others.
        """
        measure = measure or Shapley()
        alone: list[Any] = [as_single_player(term, players) if apart else None for term in terms]
        several = tuple(t for t, single in zip(terms, alone, strict=True) if single is None)
        singles = tuple(single for single in alone if single is not None)
        game_of = TreePowerGame.of if isinstance(measure, Hierarchy) else PowerGame.of
        of_sums = tuple(game_of(power, players, measure) for power in powers)
        return cls(several, singles, players, tol, measure, general, of_sums)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.players)

    def games(self, backend: Backend | None = None) -> tuple[Game, ...]:
        """Return the games of the terms for a backend, by default that in use, asked for here.

        So it is called once for a sum, not in its threads.
        """
        backend = backend or game_class()
        games = self._kept.games.get(backend)
        if games is None:
            games = tuple(backend(term, self.players, self.ladder(term)) for term in self.terms)
            self._kept.games[backend] = games
        return games

    def ladder(self, term: Term, n_players: int | None = None) -> Ladder:
        """Return the rules for a term, of which the reductions multiply errors by its slack.

        By default for all players; `n_players` are those that count where others never change.
        """
        tol = self.tol
        if term.slack > 1.0:
            tol = min(_LOOSEST, term.slack * (self.tol or FULL_PRECISION))
        ladder = self.measure.ladder(n_players or self.n_players, tol, general=self.general)
        return ladder if term.slack == 1.0 else _loosen_ladder(ladder, term.slack)


@lru_cache(maxsize=256)
def _loosen_ladder(ladder: Ladder, slack: float) -> Ladder:
    """Return the rules with errors relative to the largest term, beside which theirs are small."""
    rules = [replace(rule, relative_error=rule.relative_error / slack) for rule in ladder.rules]
    return replace(ladder, rules=tuple(rules))
