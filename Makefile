# Every target sets itself up from nothing but Python 3 and pip.
#   .venv       everything: training, metrics, tests, linters
#   .venv-base  the package as `pip install seetell` installs it (no PyTorch), and pytest
PYTHON ?= python3
PIP = -m pip install --quiet --disable-pip-version-check

.PHONY: help demo builtin results test test-base test-slow lint format clean

help:
	@echo "make demo       caption, tag and search ten free photographs"
	@echo "make builtin    train and pack the built-in models: DATA=folder [IMAGES=folder] [LIMIT=2000] [OUT=folder]"
	@echo "make test       all quick tests, then the torch-free ones again without PyTorch"
	@echo "make test-slow  the tests that take minutes"
	@echo "make results    redraw the pages of docs/results and the README's table from the records of rows"
	@echo "make lint       ruff, ruff format, mypy --strict"
	@echo "make format     fix and format with ruff"
	@echo "make clean      remove the virtual environments and the demo's output"

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python $(PIP) --editable '.[learn,metrics,dev]'
	@touch $@

.venv-base/installed: pyproject.toml
	$(PYTHON) -m venv .venv-base
	.venv-base/bin/python $(PIP) --no-compile --editable '.[test]'
	@touch $@

demo: .venv-base/installed
	.venv-base/bin/python examples/demo.py

builtin: .venv/installed
	.venv/bin/python tools/builtin.py $(DATA) $(if $(IMAGES),--images $(IMAGES)) $(if $(LIMIT),--limit $(LIMIT)) \
	    $(if $(OUT),--out $(OUT)) $(if $(RUNS),--runs $(RUNS)) $(if $(KEEP),--keep $(KEEP))

test: .venv/installed test-base
	.venv/bin/python -m pytest -m "not slow"

test-base: .venv-base/installed
	.venv-base/bin/python -m pytest -m "not slow and not java and not chromium" --ignore=tests/learn

test-slow: .venv/installed
	.venv/bin/python $(PIP) --editable '.[learn,metrics,dev,slow]'
	.venv/bin/python -m pytest -m slow

results: .venv/installed
	.venv/bin/python tools/results.py docs/results --readme README.md

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

format: .venv/installed
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

clean:
	rm -rf .venv .venv-base demo
