# Kafka Inside Out. Each line calls the kit; nothing clever happens here.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Processes start by the hundred: each would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup lab test test-all check notebooks release bench lock clean

help:
	@echo "make lab        set up and open notebook 00 in JupyterLab"
	@echo "make test       set up and run every check and test"
	@echo "make test-all   the same, with the tests that take minutes each"
	@echo "make setup      virtual environment, packages and (with Java and Maven) Kafka's jars;"
	@echo "                without a network: make setup BUNDLE=FOLDER (see kafkalab bundle)"
	@echo "make check      format, lint and types"
	@echo "make notebooks  execute the lessons' sources and write the notebooks"
	@echo "make release    student, solution and clean editions in a zip archive"
	@echo "make bench      measure the engine beside a real Kafka"
	@echo "make lock       resolve pyproject.toml into the lock files again"
	@echo "make clean      remove the virtual environment"

setup:
	@$(PYTHON) kit/install.py $(if $(BUNDLE),--bundle $(BUNDLE))

lab: setup
	@$(VENV)/bin/kafkalab lab $(ARGS)

test: setup
	$(RUN) -m pytest -p tests.lanes $(ARGS)

test-all: setup
	$(RUN) -m pytest -p tests.lanes --all $(ARGS)

check: setup
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

notebooks: setup
	$(RUN) -m kit.authoring build $(ARGS)

release: setup
	$(VENV)/bin/kafkalab release $(ARGS)

bench: setup
	$(VENV)/bin/kafkalab bench $(ARGS)

lock:
	@$(PYTHON) kit/install.py --lock

clean:
	rm -rf $(VENV)
