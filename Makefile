# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
EXTRAS := plots,games,cosmology,study,cluster,optuna,sklearn
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help demo test test-lowest lint bench bench-rivals quality faults statistical results suite-pages notebooks docs paper dist rivals suites test-suites test-bridges test-storage test-browser pin clean

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.demo  ## a run on a simulator with its report, then a small study
	$(BIN)/sumbo demo --out demo --open

test: $(VENV)/.test  ## the quick suite, with layers and coverage
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 -m "not slow and not statistical" --cov --cov-report=term

statistical: $(VENV)/.test  ## slow and statistical tests, false-alarm rates stated in each
	$(BIN)/python -m pytest -n 2 -m "slow or statistical"

lint: $(VENV)/.lint  ## style, formatting, types, spelling and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/codespell
	$(BIN)/proselint --config .proselintrc.json --output-format compact check *.md docs/*.md docs/*/*.md paper/*.md
	$(BIN)/python docs/print_docstrings.py | $(BIN)/proselint --config .proselintrc.json --output-format compact check

test-lowest: .venv-lowest/.ready  ## the quick suite with the lowest versions that pyproject allows
	.venv-lowest/bin/python -m pytest -n 2 -W default -m "not slow and not statistical"

rivals: .venv-rivals/.ready  ## BoTorch and Optuna in an environment of their own, for bench

suites: .venv-suites/.ready .venv-hebo/.ready .venv-smac/.ready  ## public suites, and the rivals that run on them

test-suites: .venv-suites/.ready  ## the contract tests of the public suites
	.venv-suites/bin/python -m pytest tests/benchmarks/test_suites.py

test-bridges: .venv-rivals/.ready  ## the bridges to BoTorch and Ax, in the rivals' environment
	.venv-rivals/bin/python -m pytest tests/bridges

test-storage: $(VENV)/.storage  ## several processes on one storage: SQLite, journal, PostgreSQL
	$(BIN)/python -m pytest tests/storage

test-browser: $(VENV)/.test  ## reports in a headless Chromium (Debian: apt-get install chromium)
	SUMBO_TEST_BROWSER=1 $(BIN)/python -m pytest tests/browser

bench: $(VENV)/.test  ## ratios measured in one run, and docs/performance.md from them
	$(BIN)/python -m benchmarks

bench-rivals: $(VENV)/.test .venv-rivals/.ready  ## whole runs against Optuna and BoTorch: hours
	$(BIN)/python -m benchmarks optimizer

faults: $(VENV)/.test  ## kills, full disks, damaged files, hanging programs; about 20 minutes
	$(BIN)/python -m benchmarks.faults

quality: .venv-rivals/.ready  ## compare with other optimisers on many problems; days, resumable
	.venv-rivals/bin/python -m benchmarks.quality run
	.venv-rivals/bin/python -m benchmarks.quality report

results: $(VENV)/.test  ## tables and figures of the paper's experiment, from results/paper
	$(BIN)/python docs/make_paper.py results/paper

suite-pages: $(VENV)/.test  ## the pages on public suites, from results/suites
	$(BIN)/python docs/make_suites.py

notebooks: $(VENV)/.docs  ## the tutorials as notebooks, run, with their pictures
	$(BIN)/python docs/make_notebooks.py

docs: $(VENV)/.docs  ## the documentation site, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

paper: $(VENV)/.paper  ## the paper about the software, as PDF
	$(BIN)/python paper/build.py

dist: $(VENV)/.docs  ## wheel and sdist
	$(BIN)/python -m build --outdir dist .

# Each stamp installs what its targets need, again when the pins or pyproject change.
$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) -c constraints.txt -e ".[plots,study]"
	touch $@

$(VENV)/.test: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) -c constraints.txt -e ".[$(EXTRAS)]" --group test
	touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) -c constraints.txt --group lint
	touch $@

$(VENV)/.storage: $(VENV)/.test
	$(PIP) -c constraints.txt --group storage
	touch $@

$(VENV)/.docs: $(VENV)/.test
	$(PIP) -c constraints.txt --group docs
	touch $@

$(VENV)/.paper: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) -c constraints.txt --group paper
	touch $@

# uv resolves to the lowest versions; pip cannot.
.venv-lowest/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e ".[plots,study,optuna,sklearn]" --group test
	touch $@

# torch first: another package would pull the newest build, with gigabytes of CUDA.
.venv-rivals/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-rivals
	.venv-rivals/bin/pip install --quiet torch==2.13.0
	.venv-rivals/bin/pip install --quiet botorch==0.18.1 ax-platform==1.3.1 optuna==5.0.0 greenlet cmaes
	.venv-rivals/bin/pip install --quiet pytest hypothesis beartype -e ".[games]"
	touch $@

# Three environments: HEBO and SMAC want other versions of what the rest needs. Each has
# the suites, so that a rival runs from its own environment into the same folder.
.venv-suites/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-suites
	.venv-suites/bin/pip install --quiet torch==2.13.0
	.venv-suites/bin/pip install --quiet "botorch[fully_bayesian]==0.18.1" ax-platform==1.3.1 optuna==5.0.0 greenlet cmaes cma==4.5.0
	.venv-suites/bin/pip install --quiet pytest hypothesis beartype -e ".[suites,study]"
	touch $@

# HEBO's own pins want an old NumPy, but it runs with a new one.
.venv-hebo/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-hebo
	.venv-hebo/bin/pip install --quiet torch==2.13.0
	.venv-hebo/bin/pip install --quiet pymoo==0.6.2 disjoint-set==0.9.0 catboost==1.2.10 GPy==1.15.0 gpytorch==1.15.2 pandas==3.1.1
	.venv-hebo/bin/pip install --quiet --no-deps hebo==0.3.6
	.venv-hebo/bin/pip install --quiet -e ".[suites,study]"
	touch $@

.venv-smac/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-smac
	.venv-smac/bin/pip install --quiet smac==2.4.1 -e ".[suites,study]"
	touch $@

pin:  ## write constraints.txt anew from a fresh environment
	rm -rf .venv-pin && $(PYTHON) -m venv .venv-pin
	.venv-pin/bin/pip install --quiet --upgrade "pip>=25.1"
	.venv-pin/bin/pip install --quiet ".[$(EXTRAS)]" --group test --group lint --group docs --group storage --group paper
	echo '# Versions that the checks run with: pip install -c constraints.txt. Made by `make pin`.' > constraints.txt
	.venv-pin/bin/pip freeze --exclude sumbo >> constraints.txt
	rm -rf .venv-pin

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) demo site dist .pytest_cache .ruff_cache .hypothesis .coverage*
