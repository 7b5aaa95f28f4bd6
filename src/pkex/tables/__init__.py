"""Tables as users have them: cells of any kind, in data frames, arrays and files.

`kinds` says which columns of a table are numbers and which are categories. `frames` turns data
frames and arrays into the `Table` that `mmd` and `hsic` compute with. `files` reads CSV and Parquet
into data frames, with the kinds of their columns; `streams` reads those that are too long for
memory in chunks. Each file uses those before it.

For commands, `selection` reads a table with the rows and columns that are asked for, `groups` reads
groups of columns, `column_notes` says which columns mislead, and `parts` keeps what is done of a
long table. `token_spans` has where in a document the tokens are that its columns count.
"""

__all__: list[str] = []
