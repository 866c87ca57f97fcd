# Every command a person runs. `make up` and `make test` need root, python3, make and the package
# registries; they install the rest.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
UV_VERSION := 0.13.7
UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := $(UV) run --quiet --locked
WINDLASS := $(RUN) windlass

.PHONY: help up down status check format generate packages test bench
help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: packages ## Kubernetes, Slurm and the bridge on this machine, a first job and first pods
	$(WINDLASS) up

down: $(UV) ## take away what `make up` made
	$(WINDLASS) local down

status: $(UV) ## what runs
	$(WINDLASS) local status

check: $(UV) ## format, lint, types, layers, unit tests, generated files: under a minute, no cluster
	$(RUN) ruff format --check --quiet .
	$(RUN) ruff check --quiet .
	$(RUN) mypy
	$(RUN) lint-imports --no-cache | tail -n 2
	$(RUN) python -m tools.reference --check
	$(RUN) python -m tools.crds --check
	$(RUN) pytest tests/unit --quiet --numprocesses=2

# What takes minutes to build is built first: a test that is not done in five is called hung.
test: check packages ## every test there is, on real servers and a real cluster
	$(WINDLASS) local prepare
	$(RUN) pytest tests/sim --quiet
	$(MAKE) --no-print-directory -j 2 simulated-0 simulated-1000 bridged-0 bridged-750
	$(RUN) pytest tests/contract tests/e2e

simulated-%: # a thousand seeds from this one on
	WINDLASS_FIRST_SEED=$* WINDLASS_SEEDS=1000 WINDLASS_STEPS=20 $(RUN) pytest tests/sim/test_simulation.py

bridged-%: # 750 seeds of the bridge from this one on
	WINDLASS_FIRST_SEED=$* WINDLASS_SEEDS=750 WINDLASS_STEPS=12 $(RUN) pytest tests/sim/bridge/test_bridge_simulation.py

bench: packages ## how fast the local cluster comes and goes, what Slurm, its workers and bridged pods cost
	$(RUN) python -m bench.local
	$(RUN) python -m bench.cluster
	$(RUN) python -m bench.workers
	$(RUN) python -m bench.workers --workers 10000 --memory
	$(RUN) python -m bench.bridge

format: $(UV) ## put the code in its usual form
	$(RUN) ruff check --quiet --fix .
	$(RUN) ruff format --quiet .

generate: $(UV) ## write the generated files anew
	$(RUN) python -m tools.reference
	$(RUN) python -m tools.crds

packages: $(UV)
	$(WINDLASS) local packages

# A Debian without python3-venv is met halfway; uv brings everything else.
.tools/bin/uv:
	python3 -m venv .tools || (apt-get update -qq && apt-get install -qq python3-venv && python3 -m venv --clear .tools)
	.tools/bin/pip install --quiet uv==$(UV_VERSION)
