# `make demo` and `make test` need only python3 and make; everything else is installed into .venv.
SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
REPORT ?= readiness.html
CONSTRAINTS ?= -c requirements.lock
PIP_INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check $(CONSTRAINTS)

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types bench install lock clean

help:  ## Show these targets
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: $(VENV)/.installed  ## Check this machine, launch a small job on it, follow it, leave readiness.html
	@mkdir -p demo-results; rm -f $(REPORT)
	@PWD="$(CURDIR)" $(BIN)/gonogo launch examples/demo.yaml --watch --report $(REPORT); status=$$?; \
	if [ -f $(REPORT) ]; then echo "The report: $(CURDIR)/$(REPORT)"; fi; \
	exit $$status

test: $(VENV)/.installed-dev  ## Run the tests; what this machine cannot run is named at the end
	@$(BIN)/python -m pytest tests

lint: $(VENV)/.installed-dev  ## Look for mistakes and for style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev  ## Put the code in form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

types: $(VENV)/.installed-dev  ## Check the types (mypy --strict)
	@PYTHON=$(BIN)/python .ci/types

bench: $(VENV)/.installed-dev  ## Measure gonogo beside an empty pytest run
	@set -e; for script in benchmarks/*.py; do $(BIN)/python "$$script"; done

install: $(VENV)/.installed-dev  ## Make .venv with gonogo and the development tools

lock: $(VENV)/.installed-dev  ## Write requirements.lock anew from pyproject.toml
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.10 --all-extras --no-header --no-annotate --upgrade \
	    pyproject.toml -o requirements.lock
	@sed -i "1i # Written by 'make lock': the versions that development and CI use, for Python 3.10 to 3.13." requirements.lock

clean:  ## Remove what these targets made
	rm -rf $(VENV) build dist *.egg-info .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	rm -rf demo-results readiness.html readiness.json readiness.md test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	    echo "gonogo needs Python 3.10 or newer as '$(PYTHON)'; name another one with: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(PYTHON) cannot make a virtual environment: its venv module is not installed." >&2; \
	    echo "On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "Installing gonogo into $(VENV)"
	@$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "Installing gonogo and the development tools into $(VENV)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed
