# forge: build, check, test, release. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
RACE ?= off
FUZZTIME ?= 30s
COUNT ?= 1
KILLS ?= 200
PKG ?= ./...
# Of one package; the scripts start thousands of processes.
TIMEOUT ?= 40m

VERSION ?= $(shell git describe --tags --dirty 2>/dev/null)
LDFLAGS := $(if $(VERSION),-X forge/cmd/forgecmd.version=$(VERSION:v%=%))

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOFUMPT := mvdan.cc/gofumpt@v0.12.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.18.2

# auto: with the race detector where there is a C compiler.
HAVE_CC := $(shell command -v $${CC:-cc} 2>/dev/null || command -v gcc 2>/dev/null)
ifeq ($(RACE),auto)
RACE_ON := $(if $(HAVE_CC),yes)
else ifeq ($(RACE),on)
RACE_ON := yes
endif

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  RACE=auto|on|off ($(RACE))  FUZZTIME=30s ($(FUZZTIME))  COUNT=10 ($(COUNT))  KILLS=200 ($(KILLS))  PKG=./gitstore ($(PKG))"

.PHONY: build
build: ## build ./forge
	CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs -ldflags '$(LDFLAGS)' -o forge ./cmd/forge

.PHONY: demo
demo: build ## run the whole loop on a small repository of its own, in a temporary directory
	@dir=$$(mktemp -d) && ./forge demo "$$dir/forge-demo"

.PHONY: check
check: ## formatting, vet, tidy and checksums; downloads nothing once modules are there
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt -l:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) mod verify

.PHONY: test
test: ## run every test, scripts included; RACE=auto adds the race detector where it can
ifeq ($(RACE_ON),yes)
	@echo "with -race"
	CGO_ENABLED=1 $(GO) test -race -timeout $(TIMEOUT) $(PKG)
else
	@echo "without -race$(if $(filter auto,$(RACE)),: no C compiler)"
	$(GO) test -timeout $(TIMEOUT) $(PKG)
endif

.PHONY: race
race: ## run every test with the race detector; needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout $(TIMEOUT) $(PKG)

.PHONY: script
script: ## run the scripts; RUN=usage_errors runs one
	$(GO) test ./testscripts -run 'TestScripts/$(RUN)' -count=1

.PHONY: update
update: ## rewrite what the scripts compare output with
	$(GO) test ./testscripts -run TestScripts -count=1 -update

# A failure repeats: the point, or the seed, is in its message.
.PHONY: torture
torture: ## kill forge and fill its disk at every write, KILLS more kills at random, writers side by side; about 10 minutes
	FORGE_TORTURE=$(KILLS) $(GO) test -count=1 -timeout 60m ./gitstore -run '^(TestConcurrentWriters|TestKilledWriter)$$'
	FORGE_TORTURE=$(KILLS) $(GO) test -count=1 -timeout 60m ./testscripts -run '^(TestCrash|TestFailedWrite|TestFullDisk|TestRunKill|TestFetchPrune)$$'

.PHONY: cover
cover: ## coverage of the whole suite, scripts included, into cover.out
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -1

# Before Go 1.27 a fuzz run can fail on its own time limit alone (golang/go#75804);
# only such a run is repeated, never one that reports an input.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each
	@list=$$($(GO) test -list '^Fuzz' ./...); \
	targets=$$(awk '/^Fuzz/ {names[n++] = $$1} /^ok/ {for (i = 0; i < n; i++) print $$2, names[i]; n = 0}' <<<"$$list"); \
	if [ -z "$$targets" ]; then echo "no fuzz target found"; exit 1; fi; \
	out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	while read -r package target; do \
		echo "fuzz $$package $$target"; \
		for try in 1 2 3; do \
			if $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null 2>&1 | tee "$$out"; then break; fi; \
			if [ $$try = 3 ] || ! grep -q '^ *context deadline exceeded$$' "$$out" || grep -qE 'Failing input|panic|_test.go:' "$$out"; then exit 1; fi; \
			echo "the fuzzer ran into its own time limit and found nothing; once more"; \
		done; \
	done <<<"$$targets"

.PHONY: bench
bench: ## run the benchmarks COUNT times into bench.new; compare with benchstat bench.old bench.new
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) $(PKG) | tee bench.new

.PHONY: lint
lint: ## golangci-lint, for developers; builds it on first use
	$(GO) run $(GOLANGCI) run

.PHONY: fmt
fmt: ## format with gofumpt
	$(GO) run $(GOFUMPT) -w cmd gitstore loop testscripts $(wildcard curate)

.PHONY: tidy
tidy: ## go mod tidy
	$(GO) mod tidy

.PHONY: vuln
vuln: ## known vulnerabilities; needs a network
	$(GO) run $(GOVULNCHECK) ./...

.PHONY: snapshot
snapshot: ## build the release archives into dist/, publish nothing
	$(GO) run $(GORELEASER) release --snapshot --clean

.PHONY: clean
clean: ## remove what make leaves
	rm -rf forge dist cover.out bench.new
