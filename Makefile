# `make demo`, `make test` and `make docs` set up everything they need in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
QUICK := tests/test_architecture.py tests/core/test_axes.py tests/mechanisms/vocabulary/test_policy.py tests/privacy/test_events.py tests/privacy/test_guarantee.py \
  tests/privacy/test_noise.py tests/ledger/test_ledger.py tests/kernels

.PHONY: demo test quick docs clean

demo: $(VENV)/.demo
	$(BIN)/dptopics demo

test: $(READY)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile

# A small installation and the tests that take seconds, or one file: make quick FILE=tests/privacy/test_events.py
quick: $(VENV)/.quick
	$(BIN)/python -m pytest -n 2 $(if $(FILE),$(FILE),$(QUICK))

docs: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/site
	@echo "Open build/site/index.html in a browser."

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "dptopics needs Python 3.11 or newer as '$(PYTHON)'. Install it, or run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python's venv module is missing. On Debian or Ubuntu: sudo apt-get install python3-venv. Then run make again."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing dptopics and its tools into $(VENV) (some minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing dptopics into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embeddings,excel]'
	@touch $@

$(VENV)/.quick: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[quick]'
	@touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
