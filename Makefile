# The verbs of this repository. CI calls them too: .ci/run.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables

# What a caller may set: make run ARGS='--addr 127.0.0.1:7400', make fuzz FUZZTIME=1h.
ARGS ?=
VERSION ?=
FUZZTIME ?=

# Tools are built once per Go version, at the versions of scripts/tools/go.mod.
TOOLS := .cache/tools/$(shell go env GOVERSION)
# Every module but that of the tools; most folders are of the root module.
MODULES = $(shell scripts/modules)

.PHONY: help
help: ## show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, and start one node with the defaults (ARGS='--addr 127.0.0.1:7400' passes flags)
	@exec bin/rlserver $(ARGS)

.PHONY: cluster
cluster: build ## build, and start three nodes as one cluster in the background
	@scripts/cluster up 3

.PHONY: cluster-down
cluster-down: ## stop the nodes of make cluster; their data stays
	@scripts/cluster down

.PHONY: build
build: ## build bin/rlserver (VERSION=1.2.3 stamps it)
	CGO_ENABLED=0 go build -trimpath $(if $(VERSION),-ldflags '-X main.version=$(VERSION)') -o bin/rlserver ./cmd/rlserver

.PHONY: test
test: $(TOOLS)/gotestsum ## install what the tests need, run all tests, end with a summary
	@scripts/install-test-deps
	@GOTESTSUM=$(CURDIR)/$(TOOLS)/gotestsum scripts/test test "$(MODULES)" -shuffle=on

.PHONY: race
race: $(TOOLS)/gotestsum ## run the tests of the root module under the race detector (needs gcc)
	@GOTESTSUM=$(CURDIR)/$(TOOLS)/gotestsum scripts/test race . -race -shuffle=on

.PHONY: fuzz-short
fuzz-short: ## fuzz each target for a few seconds (FUZZTIME=10s)
	@scripts/fuzz $(or $(FUZZTIME),10s)

.PHONY: fuzz
fuzz: ## fuzz each target for long (FUZZTIME=10m)
	@scripts/fuzz $(or $(FUZZTIME),10m)

.PHONY: bench
bench: ## measure beside redis-server, into docs/benchmarks.md (ARGS='--quick')
	go run ./scripts/bench $(ARGS)

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## check style, formatting and the arrows between packages
	@status=0; for module in $(MODULES); do \
		echo "lint $$module"; \
		(cd "$$module" && $(CURDIR)/$(TOOLS)/golangci-lint run --allow-serial-runners --config $(CURDIR)/.golangci.yaml ./...) || status=1; \
	done; exit $$status

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## format all Go files as lint wants them
	@for module in $(MODULES); do \
		(cd "$$module" && $(CURDIR)/$(TOOLS)/golangci-lint fmt --config $(CURDIR)/.golangci.yaml ./...); \
	done

.PHONY: docs
docs: ## write the pages that are generated from the code
	go run ./cmd/rlserver docs docs

.PHONY: docs-check
docs-check: ## fail if a generated page is stale
	@scripts/docs-check

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not what go mod tidy writes
	@status=0; for module in $(MODULES); do \
		echo "tidy $$module"; \
		go -C "$$module" mod tidy -diff || status=1; \
	done; exit $$status

.PHONY: vuln
vuln: $(TOOLS)/govulncheck ## look for known vulnerabilities in what is called (asks vuln.go.dev)
	$(TOOLS)/govulncheck ./...

.PHONY: tools
tools: $(addprefix $(TOOLS)/,golangci-lint gofumpt gotestsum benchstat govulncheck) ## build all pinned tools, and say where they are
	@ls $^

.PHONY: clean
clean: ## remove what the other verbs made
	rm -rf bin .cache coverage.out

# A tool is one line of the tool block in scripts/tools/go.mod.
$(TOOLS)/%: scripts/tools/go.mod scripts/tools/go.sum
	@echo "building $* (once)"
	@package=$$(awk 'NF == 1 && $$1 ~ "/$*$$" { print $$1 }' scripts/tools/go.mod); \
	GOBIN=$(CURDIR)/$(TOOLS) go -C scripts/tools install "$$package"
	@touch $@
