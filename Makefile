# make demo       run the whole protocol on real answers, with a real collector; the results page and the model are
#                 then in build/demo. KEEP=1 leaves the collector running until Ctrl-C; STORE=redis counts in a
#                 Redis server that the demo starts and stops
# make relay-demo run a collector, a relay and 1,060 devices that answer ten questions through it, each step shown
# make web-demo   serve a web page with a survey, and its collector, until Ctrl-C
# make cluster-demo
#                 run a Redis Cluster, two collectors and nginx for a minute; a node is killed, another one hangs
# make check      run the linters and all tests that need no server, browser, other process or long simulation
# make test       run all tests but those of the next two targets, in web pages with Chromium; list what was skipped
# make test-statistics
#                 repeat the statistical tests with many more surveys and messages: unbiased estimates, correct
#                 standard errors, coverage of intervals, audits
# make test-clients
#                 run the tests of the JavaScript client in Firefox, of the Java client, and of host applications;
#                 audit both clients, and build the packages; list what was skipped
# make test-all   run the tests of these three targets at once, of each simulation one size alone: the
#                 large one, or the small one if the large one takes long
# make java       build the Java client into clients/java/build
# make lint       run ruff, mypy, the check of words (.ci/words.txt) and, if it is installed, TypeScript
# make bench      compare the speed with LDP libraries on PyPI
# make accuracy   run the whole comparisons of accuracy and write docs/results/accuracy.md, and central.md beside it
#                 for training by a curator; LDP_DATA as below. An interrupted run continues where it stopped
# make audit      measure with many trials what messages reveal at most, and which bugs the audit detects
# make endurance  test the guarantees with long runs. Of the client: network failures, kill -9, exits, many processes
#                 on one journal; in web pages, kills of page, tab and browser; of silos and their collector, kill -9.
#                 Of the collector: kill -9, a disk crash, repeats, damaged bodies, two collectors, a lost shard, slow
#                 headers, a search of its data for senders, ten minutes at full speed. Of a relay: kill -9 of it, of
#                 devices and of its collector. Of all stores and a relay: 25 faults while reports arrive. Of all
#                 readers: ten minutes of coverage-guided fuzzing
# make release VERSION=1.0.0
#                 build wheel, sdist, npm package, jar, a Maven repository, SBOMs (CycloneDX), notes and checksums into
#                 dist/, twice with equal bytes, and write the set of files in tests/earlier_builds/ that later builds
#                 must read. TAG=1 makes the tag too; nothing is uploaded
# make test-versions
#                 install each extra alone from a local index, resolve all for later versions of Python, and run the
#                 quick tests with the lowest and the newest versions of all dependencies; needs PyPI
# make docs       build the documentation as a site into build/site, with search and the API reference; fails if a
#                 link or an anchor of the site leads nowhere
# make lock       write the lock files again for changed dependencies, and the digests of base images into deploy/;
#                 UPGRADE=1 takes the newest version of everything
# make clean      delete everything that is generated, also the environments
#
# PYTHON=python3.12 chooses the interpreter of a new environment.
# LDP_DATA=DIR names a directory of benchmark CSVs (car.csv, chess.csv, mushroom.csv, connect-4.csv; for a
# curator's trainings australian, pima, yrbss, adult, skin and nursery too) for the tests and examples that use
# them.

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
RELEASE := .venv-release
BENCH_CENTRAL := .venv-bench-central
DOCS := .venv-docs
JAVASCRIPT := clients/javascript
JAVA := clients/java
FAILED := .pytest_cache/v/cache/lastfailed
PIP := -m pip --disable-pip-version-check install --quiet

# Without bytecode, each process of a test would compile the packages again, and pytest all tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo relay-demo cluster-demo web-demo check test test-statistics test-clients test-all lint bench accuracy audit docs endurance release test-versions lock clean redis nginx prometheus chromium firefox javascript java jdk hosts

demo: $(VENV)/.demo $(filter redis,$(STORE))
	@$(VENV)/bin/python examples/demo.py $(if $(KEEP),--keep) $(if $(STORE),--store $(STORE))

relay-demo: $(VENV)/.demo
	$(VENV)/bin/python examples/relay_demo.py

cluster-demo: $(VENV)/.dev redis nginx
	$(VENV)/bin/python -m tools.endurance.cluster_demo

web-demo: $(VENV)/.demo
	$(VENV)/bin/python examples/web/serve.py

test: $(VENV)/.dev redis nginx prometheus chromium javascript
	$(VENV)/bin/python -m pytest -n 6 --durations=20 -rs -m 'not clients and not statistics'

# Only the files that have such tests are collected: the collection of all takes longer than many tests.
test-statistics: $(VENV)/.dev
	$(VENV)/bin/python -m pytest -n 3 --durations=20 -rs -m 'statistics and not clients' \
	$$(grep -rlE --include='test_*.py' 'small_and_full|mark\.statistics' tests)

test-clients: $(VENV)/.dev chromium firefox javascript jdk hosts
	$(VENV)/bin/python -m pytest -n 3 --dist=loadfile -rs -m clients tests/clients

# Many tests wait for a browser or a server, so three workers for each core are faster. Up to three tests that
# fail run again without others: one that then passes depends on the machine's speed, is listed, and is a fault.
test-all: $(VENV)/.dev redis nginx prometheus chromium firefox javascript jdk hosts
	rm -f $(FAILED)
	$(VENV)/bin/python -m pytest -n 6 --durations=30 -rs -m 'not repeated' \
	|| { [ $$? = 1 ] && [ $$(grep -c true $(FAILED)) -le 3 ] && echo 'Failed beside others; now each alone:' \
	&& cat $(FAILED) && $(VENV)/bin/python -m pytest -rs --last-failed --last-failed-no-failures=none; }

check: lint
	$(VENV)/bin/python -m pytest -n 2 -q -m 'not slow and not clients'

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python .ci/check_words.py
	@[ ! -e $(JAVASCRIPT)/node_modules/.bin/tsc ] || $(JAVASCRIPT)/node_modules/.bin/tsc -p $(JAVASCRIPT) --noEmit

audit: $(VENV)/.dev
	$(VENV)/bin/python -m benchmarks.audit

endurance: $(VENV)/.fuzz redis nginx chromium
	$(VENV)/bin/python -m tools.endurance

# VERSION must be that of encoders/__init__.py, with a section in CHANGELOG.md; TAG=1 makes its tag too.
release: $(RELEASE)/.release $(VENV)/.dev redis
	$(RELEASE)/bin/python -m tools.release $(or $(VERSION),$(error which version? make release VERSION=1.0.0)) $(if $(TAG),--tag)
	@file=tests/earlier_builds/$(VERSION).zip; [ -e $$file ] \
	|| { $(VENV)/bin/python -m tools.earlier_builds . $$file >/dev/null && echo "Commit $$file, which later builds must read."; }

test-versions: $(RELEASE)/.release
	$(RELEASE)/bin/python -m tools.versions

# deploy/requirements.lock: what the image needs; deploy/build.lock: what builds the wheel; .ci/requirements.lock: the extra [dev].
LOCK = $(RELEASE)/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --python-version 3.11 --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
lock: $(RELEASE)/.release
	$(LOCK) --extra collector pyproject.toml -o deploy/requirements.lock
	echo 'hatchling>=1.26' | $(LOCK) - -o deploy/build.lock
	$(LOCK) --extra dev -c deploy/requirements.lock -c deploy/build.lock pyproject.toml -o .ci/requirements.lock
	$(RELEASE)/bin/python -m tools.image_digests $(if $(UPGRADE),--upgrade)

$(RELEASE)/.release: deploy/build.lock | $(RELEASE)/bin/python
	$(RELEASE)/bin/python $(PIP) 'pip>=25'
	$(RELEASE)/bin/python $(PIP) --require-hashes -r deploy/build.lock
	$(RELEASE)/bin/python $(PIP) 'cyclonedx-bom>=7' 'pipx>=1.7' 'twine>=6' 'uv>=0.5'
	touch $@

bench: $(BENCH)/.bench redis
	$(BENCH)/bin/python -m benchmarks

accuracy: $(BENCH)/.bench $(BENCH_CENTRAL)/.bench-central
	$(BENCH)/bin/python -m benchmarks.accuracy
	$(BENCH_CENTRAL)/bin/python -m benchmarks.central

docs: $(DOCS)/.docs
	version=$$($(DOCS)/bin/python -c 'import encoders; print(encoders.__version__)') \
	&& rm -rf build/site/$$version \
	&& $(DOCS)/bin/python -m sphinx -W --keep-going -q -b html -c docs/site . build/site/$$version
	! grep -rElI '<(script|img|link)[^>]*(src|href)="(https?:)?//' build/site --include='*.html'

# One stamp file per environment: it is installed again only if its dependencies or the version have changed.
$(VENV)/.demo: pyproject.toml encoders/__init__.py | $(VENV)/bin/python
	@echo 'Installing the packages into $(VENV) ...'
	@$(VENV)/bin/python $(PIP) --editable '.[author]'
	@touch $@

$(VENV)/.dev: pyproject.toml encoders/__init__.py | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) --editable '.[dev]'
	touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(VENV)/bin/python $(PIP) --editable '.[fuzz]'
	touch $@

$(BENCH)/.bench: pyproject.toml encoders/__init__.py | $(BENCH)/bin/python
	$(BENCH)/bin/python $(PIP) --editable '.[bench]'
	touch $@

$(DOCS)/.docs: pyproject.toml encoders/__init__.py | $(DOCS)/bin/python
	$(DOCS)/bin/python $(PIP) --editable '.[docs]'
	touch $@

$(BENCH_CENTRAL)/.bench-central: pyproject.toml encoders/__init__.py | $(BENCH_CENTRAL)/bin/python
	$(BENCH_CENTRAL)/bin/python $(PIP) --editable '.[bench-central]'
	touch $@

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(RELEASE)/bin/python:
	$(PYTHON) -m venv $(RELEASE)

$(BENCH)/bin/python:
	$(PYTHON) -m venv $(BENCH)

$(BENCH_CENTRAL)/bin/python:
	$(PYTHON) -m venv $(BENCH_CENTRAL)

$(DOCS)/bin/python:
	$(PYTHON) -m venv $(DOCS)

# Installs only as root on Debian, where apt-get asks nothing. RUNLEVEL=1 prevents the package from starting its service.
redis:
	@command -v redis-server >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends redis-server; } >/dev/null 2>&1 \
	|| echo 'no redis-server found: tests that need it are skipped'

# The proxy of deploy/; installed under the same conditions.
nginx:
	@command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends nginx; } >/dev/null 2>&1 \
	|| echo 'no nginx found: tests that need it are skipped'

# Prometheus, with promtool, for the tests of metrics and alerts; installed under the same conditions.
prometheus:
	@command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends prometheus; } >/dev/null 2>&1 \
	|| echo 'no prometheus found: tests that need it are skipped'

# The browser for the tests of the dashboard; installed under the same conditions.
chromium:
	@command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
	|| echo 'no chromium found: tests that need it are skipped'

# The other browser for the tests of the JavaScript client; installed under the same conditions.
firefox:
	@command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends firefox-esr; } >/dev/null 2>&1 \
	|| echo 'no firefox-esr found: tests that need it are skipped'

# What checks the types and the size of the JavaScript client: TypeScript, esbuild and terser.
javascript:
	@[ $(JAVASCRIPT)/node_modules -nt $(JAVASCRIPT)/package-lock.json ] \
	|| { command -v npm && cd $(JAVASCRIPT) && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 && touch node_modules; } >/dev/null 2>&1 \
	|| echo 'no npm packages: tests of the JavaScript client that need Node or them are skipped'

java: jdk
	@! javac -version >/dev/null 2>&1 || $(MAKE) --no-print-directory -C $(JAVA)

# A JDK, JUnit and Kotlin, for the Java client and its tests; installed under the same conditions. macOS has a javac
# without a JDK.
jdk:
	@{ javac -version && [ -e /usr/share/java/junit-platform-console-standalone.jar ] && command -v kotlinc; } >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends default-jdk-headless junit5 kotlin; } >/dev/null 2>&1 \
	|| echo 'no JDK, JUnit 5 or Kotlin found: tests of the Java client that need them are skipped'

# The packages of examples/hosts: React, Vue and ODK Web Forms.
hosts:
	@[ examples/hosts/node_modules -nt examples/hosts/package-lock.json ] \
	|| { command -v npm && cd examples/hosts && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 && touch node_modules; } >/dev/null 2>&1 \
	|| echo 'no npm packages in examples/hosts: tests of host applications are skipped'

clean:
	rm -rf $(VENV) $(RELEASE) $(BENCH) $(BENCH_CENTRAL) $(DOCS) $(JAVASCRIPT)/node_modules $(JAVASCRIPT)/types examples/hosts/node_modules $(JAVA)/build examples/hosts/build build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
