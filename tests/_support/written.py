"""What pkex writes, read back: pages as a browser would take them apart, and files of a command."""

from __future__ import annotations

import json
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.csv

import pkex
from pkex.games import rules
from pkex.results.about import About

EVIL = "</script><script>alert(1)</script>"


def explained(
    values, data=None, *, names=None, outputs=None, players=None, columns=None, base=1.0, **more
):
    """Return an explanation of given values."""
    values = np.asarray(values, dtype=np.float64)
    n_players = values.shape[1]
    players = players or tuple((i,) for i in range(n_players))
    n_columns = 1 + max(column for player in players for column in player)
    rng = np.random.default_rng(0)
    names = names or tuple(f"f{i}" for i in range(n_players))
    about = {field.name for field in fields(About)} & more.keys()
    return pkex.Explanation(
        About(
            tuple(names),
            columns or (tuple(names) if n_columns == n_players else None),
            players,
            outputs,
            **{"removal": "neutral"} | {name: more.pop(name) for name in about},
        ),
        values=values,
        base_values=np.full(values.shape[:1] + values.shape[2:], base),
        data=rng.normal(size=(len(values), n_columns)) if data is None else data,
        rules=(rules.few_node(8), rules.few_node(4)),
        additivity_error=1e-15,
        **more,
    )


class Page(HTMLParser):
    """The scripts, styles and data of a page, as a browser would tell them apart."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.elements, self.scripts, self.style, self.title, self.policy = [], [], "", "", ""
        self.tag = ""
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.tag, found = tag, dict(attributes)
        if tag == "script":
            self.scripts.append((found["type"], ""))
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]

    def handle_data(self, data):
        if self.tag == "script":
            kind, text = self.scripts.pop()
            self.scripts.append((kind, text + data))
        elif self.tag == "style":
            self.style += data
        elif self.tag == "title":
            self.title += data

    def handle_endtag(self, tag):
        self.tag = ""

    @property
    def data(self):
        [text] = [text for kind, text in self.scripts if kind == "application/json"]
        return json.loads(text)


def results(folder="out"):
    """Return the table of values and the summary that a command wrote."""
    summary = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return pyarrow.csv.read_csv(f"{folder}/values.csv").to_pandas(), summary
