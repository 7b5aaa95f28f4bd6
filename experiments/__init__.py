"""Every figure and table of the paper, with its baselines, next to what the paper prints.

    python -m experiments                      # all, at a quick size, in minutes
    python -m experiments stability --full     # one, at the paper's size
    python -m experiments --page               # figures and page again, from the stored results

`record` says what an experiment is and how its results are kept; `baselines` has the methods that
no package offers.
"""
