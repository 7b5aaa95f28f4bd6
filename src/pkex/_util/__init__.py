"""Helpers that know nothing of kernels, models or results.

Checks of input, selections by name and position, files that are written whole or not at all, words
for sentences, properties that are computed when first asked for, extras that are imported when
used, a progress bar, sparse tables, and the names of array types.
"""

__all__: list[str] = []
