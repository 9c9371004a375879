# Every target makes .venv and installs what it needs on first use: `git clone`, `make demo`, nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two installs into one .venv must not meet
.PHONY: help demo test test-docs test-slow lint bench docs clean

help:
	@echo "make demo        train a small model, export it, serve it, ask it, draw what it looked at"
	@echo "make test        the fast tests"
	@echo "make test-docs   run every block of code in README.md and docs/"
	@echo "make test-slow   the slow tests: full trainings, other TensorFlow releases, killed processes"
	@echo "make lint        ruff and mypy: rules, formatting and types"
	@echo "make bench       side by side with peers, as ratios"
	@echo "make docs        the reference of every class, into site/"
	@echo "make clean       remove .venv, build outputs and caches; never what you trained"
	@echo
	@echo "PYTHON=python3.12 make ... picks another interpreter (for a fresh .venv; 3.10 to 3.13)"

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
