"""Statistics of samples, attributed to columns: MMD, which samples differ; HSIC, what depends.

Both are ``sum_ij w_ij k(x_i, x_j)`` over the pairs of one table. So a column's contribution is a
weighted sum of the values of product games. The files, in the order in which a call meets them:

- `mmd` and `hsic` turn tables into rows, blocks and weights; `options` are what both let a user
  choose, `attribution` is what both do; `missing` makes missing cells data;
- `pair_weights`: the weights of the pairs, as they are and permuted; `target_weights` has HSIC's;
- `block_mean`: a statistic as a mean over blocks of rows, through `pkex.games`;
- `family`: the kernels over all columns that the verdict asks; `label_sums`: their statistics, and
  those of the columns one by one, under permuted weights;
- `low_rank`: each column by itself under permuted weights, without a pass over the pairs;
- `column_test`: is the contribution of a column that is independent of the others significant?
  `quadratic_forms` has what it permutes;
- `bounds`: error bounds of a statistic; `interactions`: those of its features;
- `duration`: how long a statistic will take;
- `selector` and `drift`: estimators of scikit-learn; `reference`: files of the latter. The result
  is `pkex.Attribution`.
"""
