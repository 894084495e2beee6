# relplan: `make test` passes the whole suite and installs what it needs.

GO ?= go
export GOTOOLCHAIN = local

.PHONY: build test test-embedded test-examples test-long check fmt-check vet engines bench bench-check fuzz oracle-queueing clean

build: ## bin/relplan
	$(GO) build -o bin/relplan ./cmd/relplan

test: engines check test-examples ## everything, on every engine

test-embedded: ## without servers: what needs one prints NOT_RUN with the reason
	RELPLAN_ENGINES=embedded $(MAKE) check

test-examples: ## examples that are modules of their own (gRPC)
	cd examples/admission/grpc && $(GO) vet ./... && $(GO) test ./...

test-long: engines ## what takes an hour: large state spaces, more random systems, schedules and seeds; writes a table into docs/engines.md
	RELPLAN_LONG=1 $(GO) test -p 1 -parallel 6 -timeout 180m ./modelcheck/... ./specs/lower ./retrytree/storm/...

check: fmt-check vet
	$(GO) test -timeout 30m ./...

fmt-check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt: $$out"; exit 1; fi

vet:
	$(GO) vet ./...

engines: ## install database servers through apt when they are missing
	./internal/engines/install.sh

bench: ## benchmarks, one run each
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

bench-check: ## the checking engine beside SPIN and rumur (installed through apt when missing): counts, CPU, memory, targets
	$(GO) run ./internal/benchcheck $(BENCHFLAGS)

fuzz: ## each fuzz target for FUZZTIME (10s)
	@for p in $$($(GO) list ./...); do for t in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz); do \
	  $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $${FUZZTIME:-10s} $$p || exit 1; done; done

oracle-queueing: ## closed forms of queues against octave-queueing (installed through apt when missing)
	@command -v octave >/dev/null && [ -e /usr/share/octave/packages ] && ls /usr/share/octave/packages | grep -q queueing || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends octave octave-queueing; }
	RELPLAN_OCTAVE=1 $(GO) test -count=1 -run TestOctaveOracle -v ./retrytree/storm/queue

clean:
	rm -rf bin
