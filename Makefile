# make demo    the whole protocol over a real collector, on real answers
# make test    every test            make lint    ruff and mypy
# make bench   speed against PyPI's LDP libraries
# make accuracy  the whole comparison of accuracy, written into docs/accuracy.md; LDP_DATA as below. Once stopped, it goes on
# make audit   what messages give away at most, measured at length; which bugs the audit flags
# make endurance  the promises at length. The client's: a failing network, kill -9, exits, a crowd on one journal.
#              The collector's: kill -9, a crashed disk, repeats, spoilt bodies, two collectors, a lost shard, slow
#              headers, what it keeps searched for senders, ten minutes at full speed
# make clean   everything that is generated, the environments too
#
# PYTHON=python3.12 chooses the interpreter of a new environment.
# LDP_DATA=DIR names a directory of benchmark CSVs (car.csv, chess.csv, mushroom.csv, connect-4.csv) for
# the tests and examples that can use them.

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
PIP := -m pip --disable-pip-version-check install --quiet

.PHONY: demo test lint bench accuracy audit endurance clean redis nginx chromium

demo: $(VENV)/.demo
	$(VENV)/bin/python examples/demo.py

test: $(VENV)/.dev redis nginx chromium
	$(VENV)/bin/python -m pytest -n 2

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

audit: $(VENV)/.dev
	$(VENV)/bin/python -m benchmarks.audit

endurance: $(VENV)/.dev redis nginx
	$(VENV)/bin/python -m benchmarks.endurance
	$(VENV)/bin/python -m benchmarks.collector_endurance

bench: $(BENCH)/.bench redis
	$(BENCH)/bin/python -m benchmarks

accuracy: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks.accuracy

# A stamp per environment: installing again is due only when pyproject.toml has changed.
$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) --editable '.[collector,train]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) --editable '.[dev]'
	touch $@

$(BENCH)/.bench: pyproject.toml | $(BENCH)/bin/python
	$(BENCH)/bin/python $(PIP) --editable '.[bench]'
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(BENCH)/bin/python:
	$(PYTHON) -m venv $(BENCH)

# Only where nothing can be asked or broken: root on Debian. RUNLEVEL=1 keeps the package's service from starting.
redis:
	@command -v redis-server >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends redis-server; } >/dev/null 2>&1 \
	|| echo 'no redis-server here: what needs one is skipped'

# The front proxy of deploy/; on the same terms.
nginx:
	@command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends nginx; } >/dev/null 2>&1 \
	|| echo 'no nginx here: what needs one is skipped'

# What the tests of the operator's page look at it with; on the same terms.
chromium:
	@command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
	|| echo 'no chromium here: what needs one is skipped'

clean:
	rm -rf $(VENV) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
