"""Lists, oracles and comparisons that tests share."""
