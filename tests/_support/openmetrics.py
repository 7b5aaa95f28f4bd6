"""A strict reader of the OpenMetrics text format, as far as gauges go.

It follows the grammar of the specification (OpenMetrics 1.0): the order of descriptors, names and
escapes of labels, numbers, units as endings of names, no sample twice, and the end.
"""

from __future__ import annotations

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|Inf)|NaN"
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? ({NUMBER})")
ESCAPES = {r"\n": "\n", r"\"": '"', "\\\\": "\\"}


def read_openmetrics(text):
    """Return the samples as a dictionary from the name and a frozen set of labels to a number."""
    assert text.endswith("# EOF\n")
    lines = text.removesuffix("# EOF\n").splitlines()
    families: set[str] = set()
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    family, described = "", list[str]()
    for line in lines:
        descriptor = re.fullmatch(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)", line)
        if descriptor:
            kind, name, value = descriptor.groups()
            if name != family:
                assert name not in families, f"{name} is in two places"
                families.add(name)
                family, described = name, []
            assert kind not in described, f"{kind} of {name} stands twice"
            assert not any(key[0] == name for key in samples), "descriptors come first"
            described.append(kind)
            if kind == "TYPE":
                assert value == "gauge"
            if kind == "UNIT":
                assert name.endswith(f"_{value}")
            continue
        found = SAMPLE.fullmatch(line)
        assert found, f"not a line of OpenMetrics: {line!r}"
        assert found[1] == family, f"{found[1]} has no descriptor"
        pairs = re.findall(LABEL, found[2] or "")
        labels = {key: re.sub(r'\\["\\n]', lambda m: ESCAPES[m[0]], raw) for key, raw in pairs}
        assert len(labels) == len(pairs), "a label stands twice"
        key = (found[1], frozenset(labels.items()))
        assert key not in samples, f"{line!r} stands twice"
        samples[key] = float(found[len(found.groups())])
    return samples
