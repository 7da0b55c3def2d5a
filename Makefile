# Thin targets over the CMake presets; `make` lists them.
SHELL := /bin/bash

.PHONY: help
help:
	@echo 'make setup    install the Debian packages of tools/packages.txt that are missing (root or sudo)'
	@echo 'make build    build the command line and all tests: build/release/rill'
	@echo 'make demo     build, then transcribe clips, speak in each voice and answer questions with the embedded model'
	@echo 'make test     what a change has to pass: release, sanitizers, threads, lint (about 25 minutes)'
	@echo 'make test-all every test in both builds, the engine on NEON under qemu, a few seconds of each fuzz target'
	@echo 'make check    the quick part of it: release build and tests'
	@echo 'make bench    benchmarks of the release build'
	@echo 'make lint     layout, include rules, symbols, clang-tidy'
	@echo 'make format   lay the sources out with clang-format'
	@echo 'make clean    remove build/'

.PHONY: setup
setup:
	@tools/setup.sh

.PHONY: build
build: setup
	cmake --preset release
	cmake --build --preset release

.PHONY: demo
demo: setup
	cmake --preset release
	cmake --build --preset release --target rill_cli
	build/release/rill demo

.PHONY: test
test: setup
	tools/test.sh

.PHONY: test-all
test-all: setup
	tools/test.sh --all

.PHONY: check
check: build
	ctest --preset release

.PHONY: bench
bench: build
	@for program in build/release/bench/*_bench; do \
	  if [ -x "$$program" ]; then "$$program" || exit 1; fi; done

.PHONY: lint
lint: build
	tools/lint.sh

.PHONY: format
format:
	git ls-files -co --exclude-standard '*.cc' '*.h' '*.c' | grep -v '^include/' | xargs clang-format -i

.PHONY: clean
clean:
	rm -rf build
