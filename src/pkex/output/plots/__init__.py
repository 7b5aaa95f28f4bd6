"""Plots of results, in matplotlib: ``result.plot`` and the displays that it returns.

`accessors` and `interaction_accessor` are what ``result.plot`` is. `bars` has the displays of
attributions and importances, drawn with `drawing` in the shades that `theme` chooses. `panel` has
what those of an `Explanation` share: one set of axes for each output, and the words on the axes;
`pair_table` has the table of pairs of interactions and of sensitivities. Each display looks as the
plot of a report that shows the same: features in lanes, the most important on top, colours of
`pkex.output.palette`.
"""

__all__: list[str] = []
