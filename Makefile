# make build   what the build needs, then target/release/firstflight
# make run     compare start-up schemes on a capture that ships with the repository
# make test    what the tests need, then every test, lints and formatting
# make regenerate   rewrite every generated file: C header, indexes, pictures, schema and reference of scenarios
# make bench   speed of the simulator, beside ns-2 where it is installed
# make reproduction   run the five papers again at full length, and publish the pages
# make fuzz    fuzz the readers of captures and scenarios, SECONDS each
.PHONY: build run test regenerate bench reproduction reproduction-pages reproduction-publish fuzz deny miri packages-build packages-test packages-bench

SHELL := /bin/bash
BIN := target/release/firstflight
CAPTURE := crates/capture/testdata/p1-reno-1000KB.pcap
SECONDS_EACH ?= 60

# Installs the Debian packages given as command=package where the command is missing.
INSTALL := tools/install-missing

build: packages-build
	cargo build --release --locked --package firstflight-cli

run: build
	$(BIN) compare $(CAPTURE) --out out
	@echo
	@echo "Next: $(BIN) compare --help, or your own capture in place of $(CAPTURE)"

test: packages-build packages-test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	cargo test --workspace --locked

# Tests fail while one of these files is stale.
regenerate: packages-build
	cargo run --locked --package firstflight-contract --example header
	cargo run --locked --package firstflight-schemes --example algorithms_index
	cargo run --locked --package firstflight-scenario --example reference
	cargo run --locked --release --package firstflight-report --example scheme_plots

bench: packages-build packages-bench
	cargo bench --locked --package firstflight-sim --bench engine

reproduction: build
	$(BIN) reproduce all
	$(MAKE) reproduction-publish

# Texts have changed, and nothing that is measured.
reproduction-pages: build
	$(BIN) reproduce all --results docs/reproduction/results.json
	$(MAKE) reproduction-publish

reproduction-publish:
	mkdir -p docs/reproduction/images
	rm -f docs/reproduction/*.md docs/reproduction/images/*.svg
	cp out/reproduction/*.md out/reproduction/results.json docs/reproduction/
	cp out/reproduction/images/*.svg docs/reproduction/images/

fuzz: packages-build
	tools/fuzz $(SECONDS_EACH)

deny:
	command -v cargo-deny > /dev/null || cargo install --locked cargo-deny
	cargo deny --offline check bans licenses sources

# The crates with unsafe code, under the interpreter that checks its rules.
miri:
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p firstflight-sim --lib -- schedule lookahead scoreboard receiver
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p firstflight-sim --test stages -- twenty

packages-build:
	@$(INSTALL) cc=gcc

packages-test:
	@$(INSTALL) ns=ns2 chromium=chromium tshark=tshark

packages-bench:
	@$(INSTALL) ns=ns2 valgrind=valgrind
