"""One saved file for each kind of result, and a record of what a reader has to get from it.

`make.py` wrote the files (`*.npz`) with pkex 0.1.0.dev0, commit 10968f4; they are never written
again, as they stand for the files that users have. A new format or kind of result adds files.

The records (`*.json`) hold the public attributes of the loaded result, its repr, its frame and
some selections. Numbers are hexadecimal, so that they are exact. Where a repr or a name is changed
on purpose, ``python -m tests._support.golden.make --records`` writes the records again from the
files as they are; read the difference before you commit it. While only a name changes, a line in
`facts.RENAMED` shows that its content did not.
"""
