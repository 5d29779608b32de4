# Every target sets up what it needs in .venv.
#   make demo     five paraphrases, the levels of one         make quick   what to run while working (under a minute)
#   make test     what CI runs: check and all tests            make core    the tests that need no torch
#   make docs     the site, in build/site                      make bench   speed beside peers
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
TEST_EXTRAS := train,dev,docs,backtranslate,bench,ctranslate2,fabric,hf,meteor,plots,ray,serve,similarity
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q
# What can be tested in seconds, and its coverage.
PURE := tree levels template text metrics
PURE_TESTS = $(wildcard tests/test_*.py tests/tree tests/levels tests/template tests/text tests/metrics)
# What runs without torch, as `pip install syntagma` brings it.
CORE_TESTS = $(wildcard tests/test_files.py tests/test_levels.py tests/tree tests/levels tests/template tests/metrics \
	tests/runtime/test_core.py tests/parse/test_bundled.py tests/cli/test_bundled.py tests/cli/test_levels.py \
	tests/cli/test_help.py) $(filter-out %pieces.py %piecefiles.py,$(wildcard tests/text/*.py))

.PHONY: demo quick test core check format docs screenshots bench wheel clean

demo: $(VENV)/demo.stamp
	@$(BIN)/python -m syntagma.demo

quick: $(VENV)/test.stamp
	$(BIN)/ruff check -q src tests examples
	$(PYTEST) -n 2 -m "not slow" $(PURE:%=--cov=syntagma.%) --cov-report=term:skip-covered $(PURE_TESTS)

test: check
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
		echo "chromium is not installed, so the studio's page is not tested (Debian: apt-get install chromium)."
	$(PYTEST) -n auto

core: $(VENV)/core.stamp
	$(PYTEST) -m "not slow" $(CORE_TESTS)

check: $(VENV)/test.stamp
	$(BIN)/ruff format --check -q src tests examples
	$(BIN)/ruff check -q src tests examples
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff format src tests examples
	$(BIN)/ruff check --fix src tests examples

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(VENV)/test.stamp
	$(BIN)/python tests/studio/screenshots.py --model paraphrase-en

bench: $(VENV)/test.stamp
	for name in start core metrics parse; do $(BIN)/syntagma bench $$name --quick || exit 1; done

wheel: $(VENV)/docs.stamp
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/twine check --strict dist/*.whl

$(VENV)/demo.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/core.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[serve]' pytest hypothesis tokenizers
	@touch $@

$(VENV)/docs.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[$(TEST_EXTRAS)]'
	@touch $@ $(VENV)/demo.stamp $(VENV)/docs.stamp

clean:
	rm -rf $(VENV) build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
