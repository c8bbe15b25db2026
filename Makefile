.PHONY: help build run test additions research bench bench-against bench-peers regenerate reproduction reproduction-pages reproduction-readings reproduction-update reproduction-publish calibration league league-pages kernel fuzz deny miri packages-build packages-test packages-bench packages-kernel packages-kernel-source packages-gateway bpf-test-objects gateway-demo deb site playground python python-test

SHELL := /bin/bash
BIN := target/release/firstflight
FIRST := target/first/firstflight
CAPTURE := crates/capture/testdata/p1-reno-1000KB.pcap
SECONDS_EACH ?= 60
ITEMS ?= 200
# Test programs that run beside the others: those that wait for real time, and one for the time that is left.
BESIDE := gateway,hooks,lab,replay,share,reporting

# Installs the Debian packages of the arguments command=package whose commands are missing.
INSTALL := tools/install-missing

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: packages-build ## install missing packages and build target/release/firstflight
	cargo build --release --locked --package firstflight-cli

# A build for a first answer: profile first, without the commands gateway, lab, reproduce and league and the libraries behind them.
run: ## answer for a capture in the repository
	@tools/need-rust Cargo.toml
	@$(INSTALL) cc=gcc
	cargo build --profile first --locked --package firstflight-cli --no-default-features
	$(FIRST) compare $(CAPTURE) --out out
	@echo
	@echo "Next: $(FIRST) compare YOUR.pcap. make build makes $(BIN), which has every command."

# The examples are compiled by clippy alone. Tests that need Dask or SALib find them through tools/python.
test: packages-build packages-test packages-kernel packages-kernel-source ## install what the tests need, run all tests, lints and the format check
	tools/tests $(BESIDE)

# Packages that no user needs: what is measured for the documentation.
research: packages-build packages-kernel ## build, lint and test the packages of research/
	cargo clippy --locked --all-targets --package 'research-*' -- --deny warnings
	cargo test --locked --package 'research-*'

# Servers for `firstflight lab probe NAME`; a line for each names what could not be installed.
stacks: ## install nginx, HAProxy, ngtcp2, quic-go, aioquic, quiche and s2n-quic in target/stacks, without a change of the system
	tools/stacks

additions: packages-build ## add one of each thing by the files that ARCHITECTURE.md names, in a copy of the repository
	tools/additions

bench: packages-build packages-bench ## measure the speed of the simulator
	cargo bench --locked --package firstflight-sim --bench engine
	cargo bench --locked --package firstflight-hosts --bench threads

# make bench-against COMMIT=6ed861b0 WORKS='A: Linux'
bench-against: packages-build packages-bench ## measure the speed and memory of the simulator beside COMMIT, in one run
	tools/bench-against $(COMMIT) $(WORKS)

# make bench-peers PEERS="ns2 ns3=/path/to/ns-3 htsim=/path/to/csg-htsim"
bench-peers: packages-build packages-bench ## measure speed and memory beside ns-2, ns-3 and htsim: PEERS="ns2 ns3=FOLDER htsim=FOLDER"
	tools/bench-peers $(PEERS)

# `make test` fails while one of these files is stale.
regenerate: packages-build packages-test ## rewrite every generated file of the repository
	tools/regenerate

reproduction: build ## reproduce the papers at full length and update docs/reproduction
	$(BIN) reproduce all
	$(MAKE) reproduction-publish

# Under every joint choice of what a paper leaves open; docs/papers.md has the times.
reproduction-readings: build ## score the readings of AS, HS, DL and YN and update docs/reproduction
	for paper in AS HS DL YN; do $(BIN) reproduce $$paper --readings || exit; done
	cp out/reproduction/*-readings.md out/reproduction/*-readings.json docs/reproduction/

# For changes of texts that do not change results.
reproduction-pages: build ## update the pages of docs/reproduction from its results.json
	$(BIN) reproduce all --results docs/reproduction/results.json
	for table in docs/reproduction/*-readings.json; do \
		$(BIN) reproduce "$$(sed -n '1s/.*"paper":"\([^"]*\)".*/\1/p' $$table)" --readings --results $$table || exit; done
	cp out/reproduction/*-readings.md out/reproduction/*-readings.json docs/reproduction/
	$(MAKE) reproduction-publish

# For experiments that changed: UPDATE is a line or a paper, which is run; the others stay as they are published.
reproduction-update: build ## run UPDATE=HS again and update docs/reproduction
	$(BIN) reproduce $(UPDATE) --update docs/reproduction/results.json
	$(MAKE) reproduction-publish

# The output folder may have tables of other readings, and pictures of single lines, which no page names.
reproduction-publish:
	mkdir -p docs/reproduction/images
	find docs/reproduction -name '*.md' ! -name '*-readings.md' -delete
	rm -f docs/reproduction/images/*.svg
	find out/reproduction -name '*.md' ! -name '*-readings.md' -exec cp -t docs/reproduction {} +
	cp out/reproduction/results.json out/reproduction/verdicts.json docs/reproduction/
	cd out/reproduction && grep -oh 'images/[^)]*\.svg' *.md | sort -u | xargs cp --parents -t ../../docs/reproduction

calibration: packages-build ## draw paths of the prior, explain captures of them, and update docs/calibration.md; goes on where it stopped
	cargo run --locked --package research-forecasts --bin calibration -- --items $(ITEMS) --markdown docs/calibration.md

league: build ## run the league whole and update docs/league
	$(BIN) league --out out/league
	tools/league-publish out/league

# Runs nothing: the pages are made again from the results that stand, after a change of their texts.
league-pages: build ## update the pages of docs/league from its results.json
	$(BIN) league --results docs/league/results.json --out out/league-pages
	tools/league-publish out/league-pages docs/league/results.json

# Users need no compiler: the object is part of the repository. A test fails while it is older than its sources.
kernel: packages-build packages-kernel ## rebuild the eBPF object that runs the schemes in the Linux kernel
	rustup toolchain list | grep -q '^1\.95\.0' || rustup toolchain install 1.95.0 --profile minimal
	cargo run --locked --package firstflight-kernel-build

# Standard output has the JSON alone.
gateway-demo: ## downloads from nginx with curl, before and after the gateway; prints JSON; needs root
	@$(MAKE) --no-print-directory build packages-gateway >&2
	@cargo build --release --locked --package gateway-demo >&2
	@PATH="$(CURDIR)/target/nginx/usr/sbin:$$PATH" target/release/gateway-demo $(BIN)

deb: build ## make a Debian package of the program, its manual pages, completions and the gateway's service: out/firstflight_*.deb
	tools/deb $(BIN)

site: ## make the documentation as a site with search; after make playground, with it and with live figures of the schemes: out/site
	@[ ! -e out/figure-module.js ] || playground=out; tools/site $$playground

# One HTML file: the module is in it, and it opens from the disk.
playground: packages-build ## make the playground, a page that compares schemes in the browser: out/playground.html
	@mkdir -p out
	module=$$(tools/playground-module) && cargo run --quiet --locked --package firstflight-playground --example page -- $$module out

python: build ## build the Python wheel with the command in it, and test it in a fresh virtual environment: out/wheels/
	tools/python wheel

python-test: packages-build ## test the Python package on a build for development; says so if Python is missing
	tools/python test

fuzz: packages-build ## fuzz every reader and the simulator's arithmetic, SECONDS_EACH seconds for each target
	tools/fuzz $(SECONDS_EACH)

# A test of crates/cli holds dependencies to deny.toml, too, but knows no advisories.
deny: ## check dependencies with cargo-deny: licences, sources, versions, and advisories
	command -v cargo-deny > /dev/null || cargo install --locked cargo-deny
	cargo deny check

# Miri checks the unsafe code of the simulator.
miri: ## run tests of unsafe code under Miri; needs a nightly toolchain
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p firstflight-sim --lib -- schedule calendar lookahead scoreboard receiver
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p firstflight-sim --test all -- stages::twenty

packages-build:
	@tools/need-rust Cargo.toml
	@$(INSTALL) cc=gcc pkg-config=pkgconf /usr/include/libelf.h=libelf-dev /usr/include/zlib.h=zlib1g-dev

# redis-tools has the whole server and starts none; the package of Prometheus would start one, and is unpacked only. The playground's module, and host without std, are built for WebAssembly.
packages-test:
	@$(INSTALL) ns=ns2 chromium=chromium firefox-esr=firefox-esr node=nodejs tshark=tshark tcpdump=tcpdump ip=iproute2 redis-check-rdb=redis-tools \
		python3=python3-venv dpkg-deb=dpkg
	@command -v promtool > /dev/null || [ -e target/prometheus/usr/bin/promtool ] || ! command -v apt-get > /dev/null || \
		(mkdir -p target/prometheus && cd target/prometheus && \
		{ apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } 2> /dev/null && \
		dpkg -x prometheus_*.deb .) || echo "prometheus could not be downloaded: its tests are skipped" >&2
	@! command -v rustup > /dev/null || [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" ] || \
		rustup target add wasm32-unknown-unknown

# 138 MB; the tests of the kernel's own BPF objects need it.
packages-kernel-source: ## install the kernel's source for the tests of crates/bpf
	@$(INSTALL) clang-19=clang-19 /usr/src/linux-source-6.1.tar.xz=linux-source-6.1 /usr/include/bpf/bpf_helpers.h=libbpf-dev

bpf-test-objects: ## compile the BPF objects in crates/bpf/tests/objects; needs clang-19 and llvm-19
	for source in crates/bpf/tests/objects/*.bpf.c; do \
		clang-19 -O2 -g --target=bpf -mcpu=v3 -c $$source -o $${source%.c}.o && llvm-strip-19 -g $${source%.c}.o || exit 1; \
	done

packages-bench:
	@$(INSTALL) ns=ns2 valgrind=valgrind

packages-kernel:
	@$(INSTALL) clang-19=clang-19 opt-19=llvm-19 /usr/include/bpf/bpf_helpers.h=libbpf-dev

# nginx is unpacked, not installed: Debian's package would start a server on port 80.
packages-gateway:
	@$(INSTALL) curl=curl ip=iproute2
	@command -v nginx > /dev/null || [ -e target/nginx/usr/sbin/nginx ] || \
		(mkdir -p target/nginx && cd target/nginx && apt-get download -qq nginx && dpkg -x nginx_*.deb .)
