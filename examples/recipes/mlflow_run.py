"""Log a model's explanation to MLflow: its report, its values and the importance of its features.

Run with ``python mlflow_run.py [folder]``; MLflow keeps the run in that folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder is enough for an example

import mlflow
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex


def log_explanation(explanation: pkex.Explanation, name: str = "explanation") -> None:
    """Log an explanation to the active run: metrics, a page to look at, a file to go on with."""
    importance = explanation.importance().to_frame()
    mlflow.log_metrics(
        {f"{name}.{feature}": mean for feature, mean in importance["importance"].items()}
    )
    mlflow.log_metric(f"{name}.additivity_error", explanation.additivity_error)
    with tempfile.TemporaryDirectory() as folder:
        explanation.report(Path(folder, "report.html"))
        explanation.save(Path(folder, "explanation.npz"))
        explanation.plot().figure_.savefig(Path(folder, "beeswarm.png"))
        mlflow.log_artifacts(folder, name)


def main(folder: Path) -> None:
    """Fit, explain and log; then load the explanation from the run."""
    mlflow.set_tracking_uri(folder.resolve().as_uri())
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    explanation = pkex.Explainer(model, X[:50])(X)
    with mlflow.start_run() as run:
        mlflow.log_params(model[-1].get_params())
        log_explanation(explanation)

    path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="explanation/explanation.npz"
    )
    again = pkex.Explanation.load(path)
    gap = abs(again.values - explanation.values).max()
    print(f"The largest difference after loading is {gap:.1e}.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "mlruns"))
