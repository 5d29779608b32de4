# Two commands set everything up: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
TEST_EXTRAS := train,dev,backtranslate,bench,ctranslate2,fabric,hf,meteor,plots,ray,serve,similarity

.PHONY: demo test check format clean

demo: $(VENV)/demo.stamp
	@$(BIN)/python -m syntagma.demo

test: check
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		echo "chromium is not installed, so the studio's page is not tested (Debian: apt-get install chromium)."
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto

check: $(VENV)/test.stamp
	$(BIN)/ruff format --check -q src tests
	$(BIN)/ruff check -q src tests
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff format src tests
	$(BIN)/ruff check --fix src tests

$(VENV)/demo.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[$(TEST_EXTRAS)]'
	@touch $@ $(VENV)/demo.stamp

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
