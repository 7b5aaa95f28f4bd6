"""What came after the house was rebuilt (commit 19ea64a), by capability, for `scripts/house.py`.

Files, and files that only these import; after a colon functions, classes, methods and constants of
several lines, of files that are shared. What had a like before, under whatever name, is not listed,
nor are single lines that a capability has in the functions of others.
"""

from __future__ import annotations

LATER = {
    "effects": (
        *("explain.effects", "explain.effect_questions", "cli._effects", "results.effects"),
        *("output.view.effects", "output.plots.effects", "output.report._effects"),
        *("cli._app:effects", "cli._options:EffectsOptions", "cli._summary:EffectFacts"),
        *("cli._summary:EffectsResult", "output.plots.accessors:EffectsPlots"),
    ),
    "gradients": (
        *("explain.gradients", "explain.integrated", "results.gradients"),
        *("output.view.gradients", "output.plots.gradients"),
        *("output.frames:gradients", "output.plots.accessors:GradientsPlots"),
        *("output.plots.display:Display._check_rows", "output.report._page:_PATH_NOTES"),
    ),
    "training rows": (
        *("explain.influence", "explain.training", "cli._influence", "results.influence"),
        *("results.leave_one_out", "output.influence_frame", "output.view.influence"),
        *("output.plots.influence", "output.plots.leave_one_out", "output.report._influence"),
        *("explain.questions:Questions.influence", "explain.questions:Questions.leave_one_out"),
        *("cli._summary:InfluenceFacts", "cli._table_explainer:TableExplainer.influence"),
        *("output.frames:leave_one_out", "output.plots.accessors:InfluencePlots"),
        "output.plots.accessors:LeaveOneOutPlots",
    ),
    "losses": (
        *("explain.loss", "explain.sage", "explain.permutation", "explain.scoring"),
        *("explain.questions:Questions.loss", "output.report._importance"),
        "results.importance:Importance.importances_mean",
    ),
    "change": (
        *("explain.change", "cli._change", "results.change"),
        *("output.view.change", "output.plots.change", "output.report._change"),
        *("cli._change_facts", "cli._app:change", "cli._options:ChangeOptions"),
        *("output.frames:change", "output.plots.accessors:ChangePlots"),
    ),
    "comparison": (
        *("explain.compare", "results.comparison", "output.view.comparison"),
        *("output.plots.comparison", "output.frames:comparison"),
        "output.plots.accessors:ComparisonPlots",
    ),
    "monitoring": (
        *("cli._monitoring", "cli._config_file"),
        *("cli._log:follow", "cli._log:_Formatter", "cli._session:Session.log_result"),
        *("cli._drift:_check_kinds", "cli._drift:_load", "cli._drift:_saved_table"),
        *("cli._drift:_saved_options", "output.report.history"),
        *("cli._column_facts", "output.view.changes", "results.recomputed:Recomputed.changes"),
        *("output.files.header:with_default", "output.view.attribution:_EXTREME"),
        "output.view.attribution:verdict",
        *("output.report._attribution:_title", "output.report._attribution:_change"),
    ),
    "family of the verdict": (
        *("_util.p_values:FamilyTest", "_util.p_values:family_test"),
        *("_util.p_values:Standardised", "_util.p_values:standardise"),
        *("_util.p_values:step_down_max", "_util.p_values:_rank_smallest"),
        *("results.family:Permuted", "results.family:verdict_of", "results.family:labellings"),
        *("results.family:Family.p_members", "results.family:Family.detected_by"),
        *("results.family:Family._members", "results.family:Family._family"),
        *("results.family:Family.permuted_univariate", "results.tested:Tested.adjusted_by_holm"),
        *("output.view.attribution:MEMBER_WORDS", "output.files.header:as_lists"),
    ),
    "hierarchies": (
        *("results.group_values", "explain.background_columns", "explain.unsupported"),
        *("cli._loaded_model:LoadedModel.hierarchy", "cli._stream:_hash_hierarchy"),
        *("output.files.header:as_hierarchy", "output.files.header:as_dependence"),
        *("output.interop:_clustering", "output.text:describe_groups"),
        *("results.about:About.groups_at", "results.about:About.sum_groups"),
        "results.attribution:Attribution.group_values",
    ),
    "posteriors": (
        *("explain.posterior_draws", "explain.interaction_spread", "explain.importance"),
        *("explain.sample_variance", "explain.sample_means"),
        *("explain.posterior:_spread_of_means", "explain.questions:Questions.importance"),
        *("output.spread:has_intervals", "output.spread:interval_words"),
        *("output.spread:outside_words", "output.spread:posterior_interval"),
        *("output.view.features:_intervals", "output.view.features:_words_on_draws"),
        *("results.importance:Importance.interval", "results.sensitivity:Sensitivity.draws"),
        *("results.importance:Importance._other_sizes", "output.plots.drawing:Canvas.intervals"),
        *("results.sensitivity:Sensitivity._other_sizes", "output.spread:deviations"),
        *("output.view.features:_columns_of_draws", "output.plots.bars:_draw_intervals"),
        "results.sensitivity:Sensitivity.interval",
    ),
}
