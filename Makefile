# The two commands are `make demo` and `make test`; each does all set-up that
# it needs and is quick when that is done. `make help` lists the others.

PRESET ?= release
BUILD := build/$(PRESET)
PYTHON := .venv/bin/python
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
FUZZ_MODELS ?= 1000
FUZZ_MODULES ?= 500
# libFuzzer targets, without the prefix fuzz_.
FUZZERS := container program vocabulary

.DEFAULT_GOAL := help
.PHONY: help setup build link demo test check-all unittests lit pytest check-format \
        check-python format tidy docs check-docs check-torch-versions check-frameworks site wheel \
        wheels fuzz fuzz-verify fuzz-passes fuzz-validate mutate bench newcomer clean

help:
	@echo "make demo    set up, build, and optimize a real PyTorch graph"
	@echo "make test    set up, build, and run all tests"
	@echo "make check-all  make test, then clang-tidy on all sources, all tests under the"
	@echo "             address and undefined-behaviour sanitizers, the tests of a gcc build, and"
	@echo "             those of the Python package with other versions of PyTorch; an hour on two cores"
	@echo "make check-frameworks  verify models of Megatron-core, fairscale, peft and torchtitan"
	@echo "make fuzz    run every fuzzer for FUZZ_SECONDS (600) seconds, and random"
	@echo "             programs against PyTorch"
	@echo "make fuzz-verify  judge commute verify with PyTorch on 100000 pairs of random"
	@echo "             programs, or for FUZZ_SECONDS if that is set"
	@echo "make fuzz-passes  run all passes, with sanitizers, on joint graphs of FUZZ_MODELS (1000)"
	@echo "             random DTensor models, judged by PyTorch on all ranks"
	@echo "make fuzz-validate  judge the passes of Inductor on FUZZ_MODULES (500) random modules and"
	@echo "             on small models, by Commute and by running both graphs, and faults in them"
	@echo "make mutate  remove one condition or case of the checker at a time, for MUTATE_SECONDS"
	@echo "             (3600), and report which of them no test notices; a later run goes on"
	@echo "make newcomer  do what the README shows, in a new clone: a first build included"
	@echo "make bench   run the benchmarks"
	@echo "make docs    regenerate docs/reference from the sources"
	@echo "make site    build the documentation as a web site in build/site, and check its links"
	@echo "make wheel   build a wheel with the command line tool, and try it without LLVM"
	@echo "make wheels  a wheel for every Python that is installed, and one with the command alone"
	@echo "make format  format all sources"
	@echo "make tidy    lint all C++ sources; make check-python lints and types Python's"
	@echo "make build   build only (PRESET=release, dist, debug, gcc, asan)"

setup:
	@build_tools/setup.sh

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json
	@build_tools/stage.sh "[build] configuring preset $(PRESET)" build/logs/configure-$(PRESET).log \
	  cmake --preset $(PRESET)

build: setup
	@mkdir -p build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@build_tools/stage.sh "[build] building preset $(PRESET) in $(BUILD)" build/logs/build-$(PRESET).log \
	  cmake --build $(BUILD) -j $(JOBS)
	@ln -sfn $(BUILD)/compile_commands.json compile_commands.json

# `import commute` and the command `commute` in .venv are those of the build tree. Builds
# with sanitizers have no module.
link: build
	@if [ -e $(BUILD)/python/commute ] && [ -z "$(filter asan asan-module fuzz,$(PRESET))" ]; then \
	  $(PYTHON) build_tools/link_package.py $(BUILD); fi

demo: link
	@$(PYTHON) examples/demo.py --commute $(BUILD)/bin/commute
	@echo "For the commands of the README, here and in every new shell:"
	@echo "  export PATH=\"$(CURDIR)/.venv/bin:\$$PATH\""

# The last of these prints the closing summary.
test: build check-format check-python check-docs unittests lit pytest

# Each of these builds anew what the others have built with other flags.
check-all: test tidy
	@$(MAKE) --no-print-directory PRESET=asan unittests lit pytest
	@$(MAKE) --no-print-directory PRESET=gcc unittests lit
	@$(MAKE) --no-print-directory check-torch-versions
	@echo "[test] all checks passed"

# Each version takes minutes and gigabytes to install.
check-torch-versions: build
	@build_tools/check_torch_versions.sh $(BUILD)

# Verifies models of Megatron-core, fairscale and others, which it installs.
check-frameworks: build
	@build_tools/check_frameworks.sh $(BUILD)

unittests: build
	@echo "[test] unit tests and fuzz corpora"
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

lit: build
	@echo "[test] lit tests"
	@/usr/lib/llvm-22/bin/lit -sv -j $(JOBS) $(BUILD)/test

pytest: link
	@echo "[test] tests with PyTorch"
	@COMMUTE_BUILD=$(BUILD) OMP_NUM_THREADS=1 $(PYTHON) -m pytest -q -n $(JOBS) \
	  --dist loadfile python/tests

SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp')

check-format: setup
	@echo "[test] format of the C++ sources"
	@clang-format-22 --dry-run --Werror $(SOURCES)

check-python: setup
	@echo "[test] lint, format and types of the Python sources"
	@.venv/bin/ruff check --quiet
	@.venv/bin/ruff format --check --quiet
	@.venv/bin/mypy --no-error-summary

format: setup
	@clang-format-22 -i $(SOURCES)
	@.venv/bin/ruff check --quiet --select I --fix
	@.venv/bin/ruff format --quiet

# Slow (about six seconds a file, half an hour in all), hence not part of test.
tidy: build
	@echo "[tidy] clang-tidy on all sources"
	@run-clang-tidy-22 -quiet -p $(BUILD) -j $(JOBS) '$(CURDIR)/(lib|tools|unittests|fuzz|python)/.*'

docs: build
	@cmake --build $(BUILD) --target commute-docs
	@$(PYTHON) build_tools/source_pages.py $(BUILD)/docs
	@mkdir -p docs/reference && cp $(BUILD)/docs/*.md docs/reference/

check-docs: build
	@echo "[test] docs/reference and docs/measurements.md are up to date"
	@$(PYTHON) build_tools/measurements.py --check
	@cmake --build $(BUILD) --target commute-docs >/dev/null
	@$(PYTHON) build_tools/source_pages.py $(BUILD)/docs
	@diff -r $(BUILD)/docs docs/reference || { echo "run 'make docs'"; exit 1; }

# MkDocs is not needed for anything else, so it has its own environment.
SITE_TOOLS := build/site-tools

$(SITE_TOOLS)/bin/mkdocs: build_tools/site-requirements.txt
	@build_tools/stage.sh "[site] making the environment $(SITE_TOOLS)" build/logs/site-venv.log \
	  /usr/bin/python3 -m venv $(SITE_TOOLS)
	@build_tools/stage.sh "[site] installing MkDocs" build/logs/site-pip.log \
	  $(SITE_TOOLS)/bin/pip install --requirement build_tools/site-requirements.txt
	@touch $@

site: $(SITE_TOOLS)/bin/mkdocs
	@build_tools/stage.sh "[site] building build/site" build/logs/site.log \
	  $(SITE_TOOLS)/bin/mkdocs build --strict --quiet

wheel: setup
	@build_tools/wheel.sh

# For every Python that is installed, and the command line alone for any.
wheels: setup
	@build_tools/wheels.sh

fuzz: build
	@cmake --preset fuzz >/dev/null
	@for target in $(FUZZERS); do \
	  cmake --build build/fuzz -j $(JOBS) --target fuzz_$$target && \
	  mkdir -p build/fuzz/corpus/$$target && \
	  echo "[fuzz] $$target for $(FUZZ_SECONDS) s" && \
	  build/fuzz/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) \
	    -rss_limit_mb=4096 -print_final_stats=1 \
	    build/fuzz/corpus/$$target fuzz/corpus/$$target || exit 1; \
	done
	@echo "[fuzz] 100000 random programs through sequence-parallel, through it and micro-pipeline,"
	@echo "[fuzz] through split-linear, and twice through all passes"
	@COMMUTE_RANDOM_GRAPHS=100000 COMMUTE_RANDOM_SEED=$$(date +%s) \
	  $(BUILD)/unittests/TransformsTests --gtest_filter='SequenceParallel.*:MicroPipeline.*:SplitLinear.*:Pipeline.*'
	@echo "[fuzz] 100000 random reassemblies of each kind around collectives, and"
	@echo "[fuzz] 1000000 chains of reindexing, each against every element"
	@COMMUTE_RANDOM_CHAINS=100000 COMMUTE_RANDOM_SEED=$$(date +%s) \
	  $(BUILD)/unittests/TransformsTests --gtest_filter='NormalizeCollectives.*:ChainedCollectives.*:Pieces.*'
	@COMMUTE_RANDOM_MAPS=1000000 COMMUTE_RANDOM_SEED=$$(date +%s) \
	  $(BUILD)/unittests/AnalysisTests --gtest_filter='IndexMap.*'
	@echo "[fuzz] random programs against PyTorch for $(FUZZ_SECONDS) s"
	@COMMUTE_BUILD=$(BUILD) $(PYTHON) python/tests/test_random_programs.py \
	  --first-seed $$(date +%s) --seconds $(FUZZ_SECONDS)
	@echo "[fuzz] random programs through all passes, judged by PyTorch for $(FUZZ_SECONDS) s"
	@COMMUTE_BUILD=$(BUILD) $(PYTHON) fuzz/optimize_programs.py \
	  --first-seed $$(date +%s) --programs 1000000000 --seconds $(FUZZ_SECONDS)
	@echo "[fuzz] graphs of random DTensor models through every pass for $(FUZZ_SECONDS) s"
	@COMMUTE_BUILD=$(BUILD) $(PYTHON) fuzz/joint_graphs.py \
	  --first-seed $$(date +%s) --seconds $(FUZZ_SECONDS)
	@echo "[fuzz] archives of random programs, optimized twice, for $(FUZZ_SECONDS) s"
	@COMMUTE_BUILD=$(BUILD) $(PYTHON) python/tests/test_idempotence.py \
	  --first-seed $$(date +%s) --programs 1000000000 --seconds $(FUZZ_SECONDS)

# FUZZ_SECONDS has a default, which is not meant here.
ifeq ($(origin FUZZ_SECONDS),file)
FUZZ_VERIFY_LIMIT = --pairs 100000
else
FUZZ_VERIFY_LIMIT = --seconds $(FUZZ_SECONDS)
endif

# random, planted, ranks or exhaustive: see fuzz/verify_pairs.py.
FUZZ_GENERATOR = random

fuzz-verify: build
	@COMMUTE_BUILD=$(BUILD) $(PYTHON) fuzz/verify_pairs.py $(FUZZ_VERIFY_LIMIT) \
	  --generator $(FUZZ_GENERATOR) --first-seed $$(date +%s) --jobs $(JOBS)

MUTATE_SECONDS ?= 3600
mutate: build
	@$(PYTHON) fuzz/mutate_checker.py --build $(BUILD) --seconds $(MUTATE_SECONDS) --jobs $(JOBS)

# LLVM's own libraries are not sanitized: what they know of memory is not used. Without a
# short context of allocations, PyTorch alone takes minutes.
ASAN_LIBRARY = $(shell clang++-22 -print-file-name=libclang_rt.asan-x86_64.so)
ASAN_MODULE_OPTIONS = detect_leaks=0:abort_on_error=1:allow_user_poisoning=0:detect_container_overflow=0:malloc_context_size=2:quarantine_size_mb=64

fuzz-passes: setup
	@cmake --preset asan-module >/dev/null
	@build_tools/stage.sh "[build] building preset asan-module" build/logs/build-asan-module.log \
	  cmake --build build/asan-module -j $(JOBS) --target _commute
	@COMMUTE_BUILD=build/asan-module LD_PRELOAD=$(ASAN_LIBRARY) OMP_NUM_THREADS=1 \
	  ASAN_OPTIONS=$(ASAN_MODULE_OPTIONS) $(PYTHON) fuzz/joint_graphs.py \
	  --first-seed $$(date +%s) --models $(FUZZ_MODELS) --runs-of-each 2

fuzz-validate: build
	@COMMUTE_BUILD=$(BUILD) OMP_NUM_THREADS=1 $(PYTHON) fuzz/validate_passes.py \
	  --modules $(FUZZ_MODULES) --models --faults 100 --seed $$(date +%s)

# Without assertions.
bench:
	@$(MAKE) --no-print-directory PRESET=dist build
	@for benchmark in benchmarks/*/run.py; do \
	  echo "[bench] $$benchmark"; \
	  $(PYTHON) $$benchmark --build build/dist || exit 1; \
	done
	@$(PYTHON) build_tools/measurements.py

newcomer:
	@tests/newcomer

clean:
	rm -rf build compile_commands.json
