# Everything from nothing but python3, make and a compiler. `make demo` and `make test` set up .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The tests start hundreds of processes: without bytecode each of them would parse the package again.
unexport PYTHONDONTWRITEBYTECODE
# A process of the tests is on every core already: threads of BLAS or ours in each would wait for
# each other. Tests about threads say themselves how many.
test test-fast coverage oldest: export OMP_NUM_THREADS = 1
test test-fast coverage oldest: export MALLOWMIX_N_JOBS = 1

.PHONY: help venv demo test test-fast lint shape claims paper paper-quick docs images dist bench
.PHONY: bench-scale faults mutants coverage oldest image clean

help:  ## what one can make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

venv: .venv/tested  ## set up .venv for work on the package: editable, with every extra and the test tools

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mallowmix needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(PIP) --no-compile --editable .  # bytecode is written when a module is first used
	@touch $@

.venv/tested: .venv/ready
	$(PIP) --editable '.[dev,bench]'
	$(BIN)/python -m mallowmix.fitting.warm_up
	@touch $@

demo: .venv/ready  ## fit the built-in population and show what was planted beside what was found
	$(BIN)/mallowmix demo

lint: venv  ## ruff, pyright, import layers, the field's words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m tools.words

test: lint  ## lint and all tests; ORDER=3 shuffles them
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(ORDER),--order-seed $(ORDER))

test-fast: venv  ## the tests that are not marked slow
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow'

.venv/measured: .venv/tested
	$(PIP) 'coverage>=7.6' 'pytest-cov>=6'
	@touch $@

coverage: .venv/measured  ## all tests, and the share of lines that they run; writes benchmarks/results/line_coverage.json
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=mallowmix --cov-report=json:build/coverage.json
	$(BIN)/python -m tools.line_coverage build/coverage.json

build/oldest/ready: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv build/oldest
	$(PYTHON) -m tools.oldest dev bench > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint build/oldest/constraints.txt --editable '.[dev,bench]'
	@touch $@

oldest: build/oldest/ready  ## the tests that are not marked slow, with the oldest packages that pyproject.toml allows; TESTS=FILES
	NUMBA_CACHE_DIR=$(CURDIR)/build/oldest/numba build/oldest/bin/python -m pytest -n auto --dist worksteal -m 'not slow' $(TESTS)

.venv/documented: .venv/ready
	$(PIP) --editable '.[docs]'
	@touch $@

docs: .venv/documented  ## build the site into build/site: figures, pages, links checked
	PYTHONPATH=. $(BIN)/python docs/make_site.py

images: venv  ## take the pictures of pages in docs/images with Chromium, and draw the README's
	$(BIN)/python docs/make_images.py

.venv/released: .venv/ready
	$(PIP) --editable '.[release]'
	@touch $@

dist: .venv/released  ## build wheel and sdist into dist, check them, and try the wheel in an empty environment
	$(BIN)/python -m tools.release

shape: venv  ## the shape of the code in numbers, beside those of the first version
	$(BIN)/python -m tools.shape

claims: venv  ## numbers in README and docs against result files; STRICT=1 fails on anything stale or without a source; RERUN=1 DATA=DIR runs cheap rows first
	$(if $(RERUN),-$(BIN)/python -m tools.cheap_rows --n-jobs 2 $(if $(DATA),--data $(DATA)))
	$(BIN)/python -m tools.claims $(if $(STRICT),--strict)

PAPER = $(if $(HOURS),--hours $(HOURS)) $(if $(N_JOBS),--n-jobs $(N_JOBS)) $(EXPERIMENTS:%=--experiment %)

paper: venv  ## all figures and tables of the paper into benchmarks/results, in pieces; goes on where it stopped; HOURS=8 N_JOBS=16 EXPERIMENTS="fig3 fig4" MALLOWMIX_DATA=FOLDER
	$(BIN)/python -m tools.paper $(PAPER)
	$(BIN)/python -m tools.claims --write

paper-quick: venv  ## their quick versions, into build/paper-quick
	$(BIN)/python -m tools.paper --quick $(PAPER)

bench: venv  ## measure against what one would use instead; writes benchmarks/results
	$(BIN)/python -m benchmarks

bench-scale: venv  ## 100 million comparisons within 2 GB, against one scan by DuckDB; writes benchmarks/results/scale.json
	$(BIN)/python -m benchmarks.scale

faults: venv  ## kill commands at 100 moments each, fill the disk, take away memory; writes benchmarks/results/faults.json
	$(BIN)/python -m benchmarks.faults

mutants: venv  ## change single terms of the numerical core and run their tests; SAMPLE=500 JOBS=1 MINUTES=…; goes on where it stopped
	$(BIN)/python -m tools.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(JOBS),--jobs $(JOBS)) $(if $(MINUTES),--minutes $(MINUTES))

image:  ## build the container image of `mallowmix serve`
	docker build --tag mallowmix .

clean:  ## remove .venv, caches and what was built
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist docs/generated docs/figures/made
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
