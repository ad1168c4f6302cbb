# What a person types, the hook runs and CI runs. Every target sets up what it needs in .venv;
# all paths are relative, so the checkout may lie anywhere.

.DEFAULT_GOAL := help
.PHONY: help demo material transcript guide screens slashes said catalog test test-slow check lint format lock clean

# Set PYTHON=… to choose the interpreter of a new .venv.
PYTHON ?=
# Workers of the test run, and anything to hand on to pytest.
JOBS ?= 2
ARGS ?=

BIN := .venv/bin
PY := $(BIN)/python
PYTEST := $(PY) -m pytest -n $(JOBS) --dist worksteal

help:
	@echo 'make demo       set up, then run MAK on a small sample project with the built-in agent'
	@echo 'make test       set up, then run the tests'
	@echo 'make test-slow  the slow tests too'
	@echo 'make check      format, lint, types, floors, tests: what CI runs'
	@echo 'make lint       make check without the tests'
	@echo 'make format     rewrite the formatting and what ruff can fix'
	@echo 'make lock       write requirements.lock anew from pyproject.toml'
	@echo 'make material   download the real packages that tests work on (make test does it)'
	@echo 'make transcript write docs/transcripts/real-package.md anew'
	@echo 'make guide      write docs/guides/first-run.md anew'
	@echo 'make screens    write the pictures of the app in docs/screens anew'
	@echo 'make slashes    write the table of slash commands in docs/guides/app.md anew'
	@echo 'make said       write what MAK says on GitHub anew: its texts in tests, its commands in docs'
	@echo 'make catalog    write the list of models that comes with MAK anew'
	@echo 'make clean      remove .venv, caches and that material'

demo: .venv/.installed
	$(PY) -m mak demo

# Real packages that tests work on, by version and hash; downloaded once.
material: .venv/.installed
	@$(PY) tests/material.py

# The first run of a newcomer, written down.
guide: .venv/.installed
	$(PY) -m tests.first_run

# The app as a terminal shows it.
screens: .venv/.installed
	$(PY) -m tests.screens

# The slash commands of the app, from their registry.
slashes: .venv/.installed
	$(PY) -m tests.slashes

# What MAK says on GitHub, and the commands that it knows there.
said: .venv/.installed
	$(PY) -m tests.github.said
	$(PY) -m tests.verbs

# The list of models that comes with MAK, from genai-prices.
catalog: .venv/.installed
	$(PY) -m tests.catalog

# A run on a real package, written down.
transcript: material
	$(PY) -m tests.transcript > docs/transcripts/real-package.md

test: material
	$(PYTEST) $(ARGS)

test-slow: material
	$(PYTEST) -m 'slow or not slow' $(ARGS)

check: lint test

lint: .venv/.installed
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(BIN)/lint-imports

format: .venv/.installed
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# One file for every supported Python; no index, no host, no path gets into it.
lock: .venv/.installed
	$(PY) -m pip install --quiet uv
	@mkdir -p build
	$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "editables", sep="\n")' \
	| $(BIN)/uv pip compile --quiet pyproject.toml - --extra app --extra dev --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --no-emit-index-url --upgrade -o build/lock
	@{ echo '# Every package that MAK and its development need, by version and hash, for Python 3.11 and later.'; \
	  echo '# Written by `make lock`; installed by every make target (`pip install --require-hashes`).'; \
	  cat build/lock; } > requirements.lock
	$(BIN)/uv pip compile --quiet pyproject.toml --constraint requirements.lock --universal \
	    --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url -o build/action
	@{ echo '# What the GitHub Action installs, by version and hash: requirements.lock without development.'; \
	  echo '# Written by `make lock`.'; cat build/action; } > action/requirements.txt
	$(BIN)/uv pip compile --quiet pyproject.toml --extra app --constraint requirements.lock --universal \
	    --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url -o build/app
	@{ echo '# What the GitHub App installs, by version and hash: requirements.lock without development.'; \
	  echo '# Written by `make lock`.'; cat build/app; } > app/requirements.txt

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .material build dist

# A name on PATH is not yet an interpreter (shims), hence the trial run. Nothing but what the lock
# names by hash is downloaded.
.venv/.installed: pyproject.toml requirements.lock
	@set -e; \
	usable() { "$$@" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if ! usable $(PY); then \
	  found=; \
	  for python in "$(PYTHON)" python3.11 python3.12 python3.13 python3.14 python3 python; do \
	    if [ -n "$$python" ] && usable "$$python"; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo 'make: no Python 3.11 or newer with venv on PATH' >&2; \
	    echo 'hint: install one (Debian, Ubuntu: apt-get install python3-venv), or: make PYTHON=/path/to/python' >&2; \
	    exit 1; \
	  fi; \
	  echo "setting up .venv with $$("$$found" --version)"; \
	  "$$found" -m venv --clear .venv; \
	fi
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
