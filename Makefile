# `make demo` and `make test` are all that a fresh machine needs: Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all lint test-long engines trust audit dist test-lowest lock locked pip-audit docs docs-serve clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	@mkdir -p build
	$(BIN)/sfumato demo --report build/report.html --force

# The studio is tested in Debian's Chromium: installed where it is missing, by root or in CI.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" != 0 ] && [ -z "$$CI" ]; } || \
		{ apt-get update -qq && apt-get install -qq -y chromium; }

# What a contributor runs: laws, units, end to end.
test: $(VENV)/.test browser
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow and not long and not engines and not mutants and not clusters"

# All of that, slow tests, planted bugs and the tests on clusters of Dask and Spark; ALL selects.
ALL ?= not long and not engines
test-all: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "$(ALL)"

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

test-long: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m long

engines: $(VENV)/.test
	$(BIN)/python -m pytest -m engines
	$(BIN)/python -m bench engines memory --fresh

# Crowds, kills and power cuts against the ledger: at most an hour on two cores. What was stopped goes on.
trust: $(VENV)/.test
	$(BIN)/python -m bench trust

# Attacks on every method, and on broken ones: at most an hour on two cores. What was stopped goes on.
audit: $(VENV)/.test
	$(BIN)/python -m bench audit

# The site, from the pages of the repository: a warning fails the build. It begins at build/docs/index.html.
SITE := build/docs
$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@ $(VENV)/.demo

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -j 2 -b html -c docs . $(SITE)

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) 8800

# Builds what would be published, and runs the demo from the wheel in an empty environment.
DIST := build/dist-env
dist: | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[dist]"
	rm -rf dist $(DIST)
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet dist/*.whl
	cd $(DIST) && bin/sfumato demo

# The lowest versions that pyproject.toml allows, on the lowest Python: a part of the unit tests.
LOWEST := build/lowest-env
LOWEST_PYTHON ?= python3.11
LOWEST_TESTS := accounting lattice/test_box.py methods/test_dplloyd.py local/test_ndlaplace.py \
	core/sampling/test_stream.py synopsis/test_synopsis.py test_private_kmeans.py
test-lowest:
	rm -rf $(LOWEST)
	$(LOWEST_PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -c $(LOWEST)/lowest.txt -e ".[parquet]" \
		hypothesis pandas polars pytest
	cd $(LOWEST) && bin/sfumato demo
	$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS:%=tests/unit/%)

# Versions and hashes of all that tests, lint and the build need: Python 3.11 on Linux.
TOOLS := build/tools-env
LOCK := requirements/dev.txt
lock: | $(BIN)/python
	$(BIN)/python -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv
	$(TOOLS)/bin/uv pip compile pyproject.toml --extra test --extra dist --generate-hashes --upgrade \
		--python-version 3.11 --python-platform linux --no-header --quiet --output-file $(LOCK)

# The environment of `make test` from the lock: a file with another hash is refused.
locked: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $(VENV)/.test $(VENV)/.demo

# Known vulnerabilities of what is locked. A package that cannot be looked up fails the target.
pip-audit: | $(BIN)/python
	$(BIN)/python -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet pip-audit
	$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes -r $(LOCK)

clean:
	rm -rf $(VENV)
