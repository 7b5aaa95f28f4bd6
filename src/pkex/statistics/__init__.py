"""Statistics of samples, attributed to columns: MMD, which samples differ; HSIC, what depends.

Both are ``sum_ij w_ij k(x_i, x_j)`` over the pairs of one table, so that a column's share is a
weighted sum of the values of product games. The files, in the order in which a call meets them:

- `mmd` and `hsic` turn tables into rows, blocks and weights; `attributed` does what both share;
- `pair_weights`: the weights of the pairs, as they are and permuted;
- `block_mean`: a statistic as a mean over blocks of rows, through `pkex.games`;
- `low_rank`: each column by itself under permuted weights, without a pass over the pairs;
- `column_test`: is the contribution of a column that is independent of the others significant?
- `bounds`: what a statistic may be off by; `interactions`: those of its features;
- `selector` and `drift`: estimators of scikit-learn. The result is `pkex.Attribution`.
"""
