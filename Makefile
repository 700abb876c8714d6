# Five commands, each of which builds .venv when it is missing or out of date:
#   make demo    tools in Python, of commands, scripts and HTTP, on this repository's own files
#   make check   everything that CI runs
#   make fmt     format and repair what can be repaired
#   make bench   the speed table, as ratios to the limits of the same run
#   make soak    the fault lanes at full length: processes killed, racing, reloading; an hour or so.
#                SOAK=0.1 runs a tenth of it, SEED=1 chooses other luck
# They need make, git and Python 3.11 or later; PYTHON=/path/to/python chooses one.

.DEFAULT_GOAL := help
.PHONY: help demo check fmt bench soak clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
unexport PYTHONDONTWRITEBYTECODE # each of the processes that tests start would compile all anew
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCHEMATHESIS := $(VENV)/schemathesis/bin/st
FASTMCP := $(VENV)/fastmcp/.ready
WORKERS ?= 3
SOAK ?= 1
SEED ?= 20

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

$(READY): pyproject.toml constraints.txt
	@python=$${PYTHON:-}; \
	for candidate in python3.13 python3.12 python3.11 python3; do \
	  [ -n "$$python" ] && break; \
	  "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	    2>/dev/null && python=$$candidate; \
	done; \
	[ -n "$$python" ] || { echo 'no Python 3.11 or later with venv: name one with PYTHON=…' >&2; exit 1; }; \
	[ -x $(BIN)/python ] && $(BIN)/python -m pip --version >/dev/null 2>&1 \
	  || "$$python" -m venv --clear $(VENV); \
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'; \
	touch $@

# Apart from .venv: it needs another version of a library that toolrt needs.
$(SCHEMATHESIS): $(READY)
	@$(BIN)/python -m venv --clear $(VENV)/schemathesis
	@$(VENV)/schemathesis/bin/python -m pip install --quiet --quiet --disable-pip-version-check 'schemathesis==4.32.5'

# Apart from .venv, as it brings versions of its own.
$(FASTMCP): $(READY)
	@$(BIN)/python -m venv --clear $(VENV)/fastmcp
	@$(VENV)/fastmcp/bin/python -m pip install --quiet --quiet --disable-pip-version-check 'fastmcp==4.2.3'
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/demo.py

check: $(READY) $(SCHEMATHESIS) $(FASTMCP)
	@echo '== format'
	@$(BIN)/ruff format --check --quiet .
	@echo '== lint'
	@$(BIN)/ruff check --quiet .
	@echo '== types'
	@$(BIN)/mypy --no-error-summary
	@echo '== floors'
	@out=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$out"; exit 1; }
	@echo '== speed'
	@$(BIN)/python bench/run.py --gate
	@echo '== tests'
	@SCHEMATHESIS=$(CURDIR)/$(SCHEMATHESIS) $(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m 'not conformance'
	@echo '== conformance'
	@FASTMCP=$(CURDIR)/$(VENV)/fastmcp/bin/python $(BIN)/pytest -q -m conformance tests/conformance

fmt: $(READY)
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

bench: $(READY)
	@$(BIN)/python bench/run.py

soak: $(READY)
	@TOOLRT_SOAK=$(SOAK) TOOLRT_SEED=$(SEED) $(BIN)/pytest -q -s tests/faults tests/packs/test_swapping.py tests/packs/test_writing.py

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
