# `make demo` and `make test` are all that a fresh machine needs: Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all lint test-long engines clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/sfumato demo

# What a contributor runs: laws, units, end to end.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not long and not engines and not mutants and not clusters"

# All of that, the planted bugs and the tests on clusters of Dask and Spark; ALL selects.
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

clean:
	rm -rf $(VENV)
