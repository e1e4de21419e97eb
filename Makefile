# Everything a developer or CI does with Rentroll. `make help` lists it.

VENV ?= .venv
BIN := $(VENV)/bin
# What an environment that is there was built with builds the next one.
PYTHON ?= $(or $(wildcard $(BIN)/python),python3)
TO_RUN := $(VENV)/.ready-to-run
TO_DEVELOP := $(VENV)/.ready-to-develop
BENCH := .venv-bench
BUILD := .venv-build
DOCS := .venv-docs
SITE := htmldocs
PYTHONS := 3.11 3.13
ARGS ?=
TEST_PROCESSES ?= 3
SECONDS ?= 60
SEED ?=
DATABASE ?= sqlite postgres

.DEFAULT_GOAL := help
.PHONY: help run test coverage test-all chaos mutants examples check bench screenshots docs reference wheel lock clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  PYTHON=python3.13 names the Python of the first environment, VENV=.venv-3.13 its folder."

run: $(TO_RUN) ## Serve on PORT (8000) and run workers, files in DATA_DIR (data/); Ctrl-C stops both
	@DEBUG=$${DEBUG-1} exec $(BIN)/python manage.py serve

# Files beside each other, in the order that tests/conftest.py puts them into.
BESIDE = -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test: $(TO_DEVELOP) ## Test on SQLite, then on PostgreSQL; pytest arguments in ARGS
	@scripts/need-chromium
	$(BIN)/python -m pytest --database=sqlite $(BESIDE) $(ARGS)
	$(BIN)/python -m pytest --database=postgres $(BESIDE) $(ARGS)

# A thread that is traced begins the same instruction over and over there, while another one is to be interrupted and cannot be.
NOT_TRACED = 'Python 3.11 stands still where tests interrupt handlers: make coverage PYTHON=python3.13 VENV=.venv-3.13'

coverage: $(TO_DEVELOP) ## Test on both databases, and say which lines and branches no test reaches
	@$(BIN)/python -c "import sys; sys.exit($(NOT_TRACED) if sys.version_info < (3, 12) else 0)"
	@scripts/need-chromium
	$(BIN)/coverage erase
	@for database in sqlite postgres; do \
		$(BIN)/coverage run -m pytest --database=$$database $(BESIDE) $(ARGS) || exit; \
	done
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='scheduling/*,tenants/*' --fail-under=95

test-all: ## Test on every supported Python this machine has, each in its own environment
	@scripts/each-python $(PYTHONS) -- $(MAKE) test

chaos: $(TO_DEVELOP) ## Break everything under load for SECONDS (60), check what was promised; DATABASE, SEED to replay
	@for database in $(DATABASE); do \
		$(BIN)/python -m tests.chaos --database=$$database --seconds=$(SECONDS) --seed=$(SEED) || exit; \
	done

mutants: $(TO_DEVELOP) ## Put one small fault at a time into the ledger, and see a test fail; paths and options in ARGS
	@$(BIN)/python -m tests.mutants $(ARGS)

examples: $(TO_DEVELOP) ## Record what the API answers anew, as the examples of its document
	@echo '{"operations": {}, "problems": {}}' > scheduling/api/v1/openapi/examples.json
	RECORD_EXAMPLES=1 $(BIN)/python -m pytest -q -p no:randomly -k 'can_be_had or belong_to_no or of_one_lease' tests/api/test_conformance.py
	$(BIN)/python -m pytest -q tests/api/test_conformance.py

PROGRAMS := config scheduling tenants scripts manage.py
# Statements in there are put together from constants and names, and values are always bound (B608).
DIALECTS := scheduling/ledger/dialects
MOVING := scheduling/ledger/moving

check: export DEBUG = 1
check: $(TO_DEVELOP) ## Lint, types, import rules, migrations, deployment settings, templates, known vulnerabilities
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(PROGRAMS) --exclude $(DIALECTS),$(MOVING)
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(DIALECTS) $(MOVING) --skip B608
	@$(BIN)/python scripts/audit.py requirements.txt requirements-dev.txt requirements-build.txt requirements-docs.txt
	$(BIN)/python manage.py makemigrations --check --dry-run
	@echo "manage.py check --deploy, in production settings"
	@DEBUG=0 SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))') \
		ALLOWED_HOSTS=rentroll.example $(BIN)/python manage.py check --deploy --fail-level WARNING
	find . -name '*.html' -not -path './.*' -not -path './data/*' -not -path './html*/*' \
		-exec $(BIN)/djade --target-version 5.2 --check {} +

bench: $(BENCH)/.ready ## Measure beside the peers; what and how in ARGS, such as ARGS=--list or "ARGS=pickup --quick"
	@$(BENCH)/bin/python -m benchmarks $(ARGS)

wheel: $(BUILD)/.ready ## Build the wheel that other Django projects install, and its sources, into dist/
	$(BUILD)/bin/hatchling build --clean

screenshots: $(TO_DEVELOP) ## Picture the console's main pages, with a demo's data, into docs/images/
	@scripts/need-chromium
	@$(BIN)/python -m tests.console.screenshots docs/images

# From nothing each time: what was read before would keep its warnings to itself.
docs: $(DOCS)/.ready ## Make a site of docs/ in htmldocs/; a link that leads nowhere fails
	@rm -rf $(SITE)
	$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --keep-going -d $(DOCS)/doctrees --fresh-env -c docs . $(SITE)
	@echo '<meta http-equiv="refresh" content="0; url=docs/index.html">' > $(SITE)/index.html
	@echo "The documentation is at file://$(CURDIR)/$(SITE)/index.html"

reference: export DEBUG = 1
reference: $(TO_DEVELOP) ## Make the pages anew that are made from the code, docs/reference/
	@$(BIN)/python -m scripts.reference

LOCK = $(BIN)/uv pip compile --quiet --universal --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate $(ARGS)

lock: $(TO_DEVELOP) ## Pin pyproject's dependencies again; ARGS=--upgrade takes newer releases
	$(LOCK) pyproject.toml --extra stand-alone --python-version 3.11 --output-file requirements.txt
	$(LOCK) pyproject.toml --extra stand-alone --python-version 3.11 --extra dev --constraint requirements.txt \
		--output-file requirements-dev.txt
	$(LOCK) pyproject.toml --extra stand-alone --python-version 3.12 requirements-bench.in --constraint requirements.txt \
		--output-file requirements-bench.txt
	$(LOCK) --python-version 3.11 --group build --constraint requirements-dev.txt --output-file requirements-build.txt
	$(LOCK) --python-version 3.11 --group docs --output-file requirements-docs.txt

clean: ## Remove environments, caches, dist/ and the site of the docs; DATA_DIR stays
	rm -rf .venv .venv-* dist htmlcov $(SITE) .coverage*
	rm -rf .hypothesis .import_linter_cache .mutants .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './data/*' -prune -exec rm -rf {} +

# Exactly what was pinned, and nothing that would have to be built.
PINNED = --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r
INSTALL = $(BIN)/pip install $(PINNED)

$(TO_RUN): requirements.txt
	@scripts/new-environment $(PYTHON) $(VENV)
	$(INSTALL) requirements.txt
	$(BIN)/pip check
	@touch $@

$(TO_DEVELOP): requirements-dev.txt $(TO_RUN)
	$(INSTALL) requirements-dev.txt
	$(BIN)/pip check
	@touch $@

# The peers want Python 3.12, and one of them brings a dependency (erlpack) that has to be built.
$(BENCH)/.ready: requirements-bench.txt
	$$(scripts/find-python 3.13 2>/dev/null || scripts/find-python 3.12) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		--only-binary :all: --no-binary erlpack -r $<
	$(BENCH)/bin/pip check
	@touch $@

# Each has a little of its own to do, and nothing of what a developer needs.
$(BUILD)/.ready $(DOCS)/.ready: .venv-%/.ready: requirements-%.txt
	@scripts/new-environment $(PYTHON) .venv-$*
	.venv-$*/bin/pip install $(PINNED) $<
	.venv-$*/bin/pip check
	@touch $@
