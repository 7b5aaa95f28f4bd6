"""How results look, and how they leave pkex.

Three results, `Explanation`, `Attribution` and `Importance`, are shown and kept by the same means.
Their methods are thin and end here. Nothing here computes a value; extras are imported when used.

- `text` has what a terminal prints, and words that the others repeat; `html` the tables of a
  notebook.
- `plots` has what ``result.plot`` draws. `palette` has the colours of everything, and `columns`
  decides how a column of data is drawn, for plots and reports alike.
- `report` writes one HTML file for a browser.
- `files` says what of each result goes into a file, and how it comes back.
- `interop` and `frames` hand results to shap, shapiq and pandas.
"""

__all__: list[str] = []
