# Every target makes .venv and installs what it needs on first use: `git clone`, `make demo`, nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two installs into one .venv must not meet
.PHONY: help demo test test-docs test-slow lint bench docs wheels clean

help:
	@echo "make demo        train a small model, export it, serve it, query it and draw its attention"
	@echo "make test        the fast tests"
	@echo "make test-docs   run every block of code in README.md and docs/"
	@echo "make test-slow   the slow tests: full trainings, other TensorFlow releases, killed processes"
	@echo "make lint        ruff and mypy: rules, formatting and types"
	@echo "make bench       the benchmarks: speed relative to other libraries"
	@echo "make docs        the API reference, in site/"
	@echo "make wheels      both wheels, in dist/: seqattn-tf, and seqattn-lite for machines without TensorFlow"
	@echo "make clean       remove .venv, build outputs and caches, but no trained models"
	@echo
	@echo "PYTHON=python3.12 make ... uses another interpreter for a new .venv (3.10 to 3.13)"

demo: .venv/.installed
	$(BIN)/seqattn demo

PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

test: .venv/.installed-dev
	$(PYTEST) -m "not slow and not docs" --budget

test-docs: .venv/.installed-dev
	$(PYTEST) -m "not slow" tests/docs

test-slow: .venv/.installed-dev
	$(PYTEST) -m slow

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@rm -rf build/typed # what is installed: mypy must see the four folders as one package
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python setup.py -q build_py --build-lib build/typed
	cd build/typed && ../../$(BIN)/mypy -p seqattn_tf --python-executable ../../$(BIN)/python \
		--config-file ../../pyproject.toml --cache-dir ../mypy

bench: .venv/.installed-bench
	$(BIN)/python -m benchmarks

docs: .venv/.installed-docs
	$(BIN)/pdoc -o site seqattn_tf

wheels: .venv/.created
	@rm -rf build/lib # of the other wheel
	$(PIP) wheel --no-deps --wheel-dir dist .
	@rm -rf build/lib
	SEQATTN_DISTRIBUTION=seqattn-lite $(PIP) wheel --no-deps --wheel-dir dist .
	@rm -rf build/lib seqattn_lite.egg-info

clean:
	rm -rf .venv build dist site *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched last, so an interrupted step leaves none and runs again.
.venv/.created:
	@echo "making .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.installed: setup.py pyproject.toml .venv/.created
	@echo "installing seqattn-tf and TensorFlow into .venv: once, a minute or two, a large download ..."
	@$(PIP) install -e .
	@touch $@

.venv/.installed-dev: setup.py pyproject.toml .venv/.created
	@echo "installing seqattn-tf, TensorFlow and the test tools into .venv: once, a minute or two, a large download ..."
	@$(PIP) install -e '.[dev]'
	@touch $@

.venv/.installed-bench: setup.py pyproject.toml .venv/.created
	@echo "installing seqattn-tf and the peers it is measured against (PyTorch) into .venv: once, some minutes ..."
	@$(PIP) install -e '.[bench]'
	@touch $@

.venv/.installed-docs: setup.py pyproject.toml .venv/.created
	@echo "installing seqattn-tf, TensorFlow and pdoc into .venv: once, a minute or two, a large download ..."
	@$(PIP) install -e '.[docs]'
	@touch $@
