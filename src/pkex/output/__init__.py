"""How results look, and how they leave pkex.

Results are shown and kept by the same means. Their methods are thin and end here. Nothing here
computes a value; extras are imported when used.

- `view` has what is shown of a result, as data; `text`, `html` and `terminal` draw it, and `report`
  takes its notes.
- `plots` has what ``result.plot`` draws. `palette` has the colours of everything, and `columns`
  decides how a column of data is drawn, for plots and reports alike.
- `report` writes one HTML file for a browser.
- `files` says what of each result goes into a file, and how it comes back.
- `interop` and `frames` hand results to shap, shapiq and pandas.
"""

__all__: list[str] = []
