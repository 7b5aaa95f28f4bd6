"""Install torch, GPyTorch, BoTorch, BayBE and Ax into the environment of the Python that runs this.

    python scripts/install_torch.py

Plain `torch` is the default. On Linux that takes several gigabytes of CUDA with it, so a build for
the CPU is taken where the indexes or folders that pip is configured with have one: its version ends
in "+cpu". BoTorch's sampled models need its extra for them, though nothing is sampled here.
"""

import re
import subprocess
import sys

PACKAGES = [
    *("gpytorch>=1.15.2", "botorch[fully-bayesian]>=0.18.1"),
    *("baybe>=0.15", "ax-platform>=1.3.1"),
]


def main() -> None:
    """Install, the smaller build first."""
    for version in cpu_builds():
        if pip("install", "--quiet", f"torch=={version}", *PACKAGES).returncode == 0:
            return
    pip("install", "--quiet", "torch", *PACKAGES).check_returncode()


def cpu_builds() -> list[str]:
    """Return the newest version of torch for the CPU alone that pip can find here, if any."""
    found = pip("index", "versions", "torch", capture_output=True, text=True)
    listed = re.search(r"^Available versions: (.*)$", found.stdout, re.MULTILINE)
    versions = listed.group(1).split(", ") if listed else []
    return [version for version in versions if version.endswith("+cpu")][:1]


def pip(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run pip of this environment."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=False, **options)  # type: ignore[call-overload, no-any-return]


if __name__ == "__main__":
    main()
