"""
Which words decide?
===================

A classifier of documents: every word of a document has its exact Shapley value.
"""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import pkex

good = ["good food and kind people", "a good night", "kind and good service", "great food"]
bad = ["bad food", "a bad cold night", "cold and bad", "rude people and cold food"]
model = make_pipeline(TfidfVectorizer(), SVC(C=5.0)).fit(good + bad, [1] * 4 + [0] * 4)
explanation = pkex.Explainer(model, good + bad)(["Good people, but bad and cold food!"])
explanation.to_frame().round(3)

# %%
# The document with its words tinted: vermilion pushes towards a good review, blue against it.
explanation.plot.text(0)

# %%
explanation.plot.waterfall(0)

# %%
# "bad" and "cold" outweigh "good" and "people". Words that the document does not contain count as
# well: their absence is one bar.
