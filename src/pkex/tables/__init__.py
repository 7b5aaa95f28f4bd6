"""Tables as users have them: cells of any kind, in data frames, arrays and files.

`kinds` says which columns of a table are numbers and which are categories. `frames` turns data
frames and arrays into the `Table` that `mmd` and `hsic` compute with. `files` reads CSV and Parquet
into data frames, with the kinds of their columns. Each file uses those before it.
"""

__all__: list[str] = []
