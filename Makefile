# The only entry point: `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest
PEERS  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stockade/peers
# Files of tests side by side; more than two would fight for the engine and the processors.
SIDE_BY_SIDE ?= -n 2 --dist loadfile
SOURCES := policies runners harness sandbox_images tests benchmarks

.DEFAULT_GOAL := help
.PHONY: help setup setup-peers demo examples test test-all again check lint type imports images bench bench-peers clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "stockade needs Python 3.11 or newer; name one with PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "no virtual environment; on Debian: apt-get install python3-venv" >&2; exit 2; }

$(VENV)/.package: pyproject.toml | $(BIN)/python
	@echo "setting up: the package and what it needs" >&2
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "setting up: the package and its development tools" >&2
	@$(PIP) install --editable '.[dev]'
	@touch $(VENV)/.package $@

setup: $(VENV)/.dev ## install the package with its development tools into .venv

setup-peers: $(VENV)/.dev ## install what single tests compare with (Python 3.12+ for some)
	@$(PIP) install --editable '.[peers]'

demo: $(VENV)/.package ## set up, then watch a scripted model fix a bug in a box
	@$(BIN)/stockade images build python || echo "going on without an image of our own" >&2
	@$(BIN)/stockade run examples/demo --model scripted:examples/demo/script.json

examples: $(VENV)/.package ## fetch the sources of the real examples
	@$(BIN)/python examples/fetch.py

images: $(VENV)/.package ## build the image of the boxes (cached)
	@$(BIN)/stockade images build python

test: setup ## the tests, without slow ones and without a network
	@$(PYTEST) $(SIDE_BY_SIDE) -m "not slow and not network"

test-all: setup examples ## every test (the better part of an hour)
	@$(PYTEST) $(SIDE_BY_SIDE)

again: setup ## only the tests that failed in the last run
	@$(PYTEST) --last-failed --last-failed-no-failures none

check: lint type imports test ## lint, types, import contracts and tests

lint: setup ## style and common mistakes
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)

type: setup ## types, strictly
	@$(BIN)/mypy

imports: setup ## the layers: harness -> runners -> policies
	@$(BIN)/lint-imports

bench: setup ## the figures of docs/benchmarks.md, side by side in one run
	@$(BIN)/python -m benchmarks

$(PEERS)/.installed: pyproject.toml | $(VENV)/.package
	@echo "installing the libraries to compare with into $(PEERS)" >&2
	@$(BIN)/python -m venv "$(PEERS)"
	@"$(PEERS)/bin/python" -m pip --disable-pip-version-check --quiet install '.[bench]'
	@touch "$@"

bench-peers: setup $(PEERS)/.installed ## a step of the loop beside other libraries' (installs them, once)
	@$(BIN)/python -m benchmarks peers_loop

clean: ## remove what set-up and tests made in this folder
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
