"""These tests need Dask, Ray and Spark: `make cluster` installs them and runs the folder."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("distributed") else ["test_*.py"]


@pytest.fixture(scope="session")
def client():
    """A Dask cluster of two worker processes, each with one thread."""
    import distributed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close()
