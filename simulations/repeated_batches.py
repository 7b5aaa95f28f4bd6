"""False alarms of a monitor that tests many batches against one reference, where nothing changes.

    python -m simulations.repeated_batches

Each of 100 references of 200 rows meets 20 batches of 50 rows of the same distribution. Printed
are the share of batches with an alarm, of references with any alarm in the 20, and with four or
more. Batches share the reference, so their p-values are not independent.
"""

import numpy as np

import pkex

SETS, BATCHES, ROWS, COLUMNS, PERMUTATIONS = 100, 20, (200, 50), 2, 399
LEVELS = (0.05, 0.05 / BATCHES)


def alarm_levels(seed: int) -> list[float]:
    """Return of each batch the smallest level at which it has an alarm, or 1."""
    rng = np.random.default_rng([32, seed])
    drift = pkex.MMDDrift(n_permutations=PERMUTATIONS, random_state=seed, n_jobs=1)
    drift.fit(rng.normal(size=(ROWS[0], COLUMNS)))
    found = []
    for _ in range(BATCHES):
        batch = rng.normal(size=(ROWS[1], COLUMNS))
        found.append(1.0)
        for alpha in LEVELS:
            if not drift.detect(batch, alpha=alpha):
                break
            found[-1] = alpha
    return found


def main() -> None:
    """Print the shares."""
    levels = np.array([alarm_levels(seed) for seed in range(SETS)])
    for alpha in LEVELS:
        alarms = (levels <= alpha).sum(axis=1)
        print(
            f"alpha = {alpha:<8g} batches {alarms.mean() / BATCHES:.4f}  "
            f"any of 20 {np.mean(alarms > 0):.3f}  four or more {np.mean(alarms >= 4):.3f}"
        )


if __name__ == "__main__":
    main()
