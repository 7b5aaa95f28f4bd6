"""Readers for scikit-learn: its models, their kernels, pipelines and other wrappers.

- `models`: support vector machines, kernel ridge regression, Gaussian processes and more;
- `density`: kernel density estimates;
- `kernels`: scikit-learn's kernels as pkex's;
- `columns`: transformers that make each column from one column;
- `wrappers`: pipelines, searches, and what else stands around a model.
"""
