# The checks by short names; each works in a fresh clone. The work is done by the go command and the scripts in .ci.

help:
	@echo 'make test   the tests of the library'
	@echo 'make race   all tests of all modules, with the race detector, which needs a C compiler'
	@echo 'make lint   lints and known vulnerabilities, for this system; .ci/lint checks all systems; needs npm'
	@echo 'make fuzz   each fuzz target, 5000 times'
	@echo 'make bench  each benchmark, once'
	@echo 'make all    everything that decides whether a change lands; installs programs, as root on Debian'

test:
	go test ./...

race:
	go test -race work

lint:
	.ci/lint $$(go env GOOS)

fuzz:
	.ci/fuzz

bench:
	.ci/bench

all:
	.ci/run

.PHONY: help test race lint fuzz bench all
