.DEFAULT_GOAL := help

# Pinned here rather than in go.mod, whose versions are the product's. It takes a minute or two to build, once.
GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# A package's tests bring a Postgres along, so a small machine runs few packages at a time.
TEST_FLAGS ?= -race -timeout 25m -p 2
BENCH ?= .
FUZZTIME ?= 10s
# Git refuses to look at somebody else's clone, such as a user's when we are root; the build must not fail for that.
VCS := $(shell git status >/dev/null 2>&1 && echo true || echo false)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: deps build ## Run the whole product on this machine (ARGS="--listen … --data-dir …")
	bin/ledgerd dev $(ARGS)

.PHONY: demo
demo: build ## Post a session to the running product and ask the auditor's question
	bin/ledgerd demo $(ARGS)

.PHONY: build
build: ## Build bin/ledgerd
	go build -trimpath -buildvcs=$(VCS) -o bin/ledgerd ./cmd/ledgerd

.PHONY: test
test: ## Run all tests, with the race detector and on a Postgres of their own
	@scripts/deps test
	go test $(TEST_FLAGS) ./...

.PHONY: bench
bench: deps ## Run the benchmarks (BENCH=regexp)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 30m -p 1 ./...

.PHONY: chaos
chaos: ## Crash the service and the database at random under load (ROUNDS=50)
	@scripts/deps test
	LEDGERD_CHAOS_ROUNDS=$(or $(ROUNDS),50) go test -run '^TestChaos$$' -v -timeout 30m ./cmd/ledgerd

.PHONY: fuzz
fuzz: ## Run each fuzz test for a moment (FUZZTIME=10s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: lint
lint: ## Check format, vet and lint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:" $$unformatted; exit 1; fi
	go vet ./...
	$(GOLANGCI_LINT) run ./...

.PHONY: fmt
fmt: ## Format the code
	gofmt -w .

.PHONY: clean
clean: ## Remove what was built; data folders stay
	rm -rf bin

.PHONY: deps
deps:
	@scripts/deps run
