# make demo and make test need Python >= 3.11 and the network for the first installation; nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types unit bench clean

# Installed anew only when the metadata changes; the stamp is written last, so an interrupted installation is repeated.
$(VENV)/.installed: setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "CBSMRP needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' --config-settings editable_mode=compat
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/cbsmrp demo $(if $(TRACE),--trace $(TRACE)) $(DEMO)

test: lint types unit

lint: $(VENV)/.installed
	$(BIN)/ruff check .

types: $(VENV)/.installed
	$(BIN)/mypy

unit: $(VENV)/.installed
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(PYTEST)

bench: $(VENV)/.installed
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-out
