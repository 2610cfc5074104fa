# `make demo` and `make test` need only python3.11 or newer; everything else they install into .venv.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --disable-pip-version-check --quiet
export PIP_CONSTRAINT := constraints.txt

.PHONY: demo test lint clean

demo: $(VENV)/.demo
	@rm -rf runs/demo
	$(VENV)/bin/medjudge run caremedeval --model replay:fixtures/caremedeval/demo.recording.jsonl \
		--data fixtures/caremedeval --context none --context full --out runs/demo/caremedeval
	$(VENV)/bin/medjudge run medexqa --model replay:fixtures/medexqa/demo.recording.jsonl \
		--data fixtures/medexqa --out runs/demo/medexqa
	$(VENV)/bin/medjudge run medrbench --model replay:fixtures/medrbench/demo.recording.jsonl \
		--data fixtures/medrbench --setting oracle --setting one_turn --setting free_turn --out runs/demo/medrbench
	$(VENV)/bin/medjudge run medrbench --model replay:fixtures/medrbench/treatment.recording.jsonl \
		--data fixtures/medrbench --setting treatment --out runs/demo/treatment
	$(VENV)/bin/medjudge judge runs/demo/medrbench --judge replay:fixtures/medrbench/strict-judge.recording.jsonl \
		--judge-protocol batched > /dev/null
	$(VENV)/bin/medjudge judge runs/demo/medrbench --judge replay:fixtures/medrbench/judge.recording.jsonl \
		--judge-protocol batched
	$(VENV)/bin/medjudge report runs/demo/medrbench --html runs/demo/report.html
	@echo
	@echo "runs/demo/report.html has all of MedR-Bench, with two judges; so has: $(VENV)/bin/medjudge sensitivity runs/demo/medrbench"
	@echo "The replies and judgements above are synthetic and replayed from fixtures/. To ask a real model:"
	@echo "  $(VENV)/bin/medjudge data fetch embedded        # a small model that runs here, no key (about 100 MB)"
	@echo "  $(VENV)/bin/medjudge run caremedeval --model embedded --data fixtures/caremedeval --context none"
	@echo "  $(VENV)/bin/medjudge run medrbench --model http://127.0.0.1:8000/v1#NAME --data fixtures/medrbench --setting free_turn --examiner records"

test: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest

lint: $(VENV)/.test
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check . && $(VENV)/bin/mypy

# a mark of its own for each, so that neither installs again what is there
$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) torch
	$(PIP) --editable '.[all,test]'
	@touch $@ $(VENV)/.demo

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "medjudge needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) runs/demo
