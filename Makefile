# One command a task; `make help` lists them. Each does its own set-up.

SWIFT ?= swift
# Passed on to the demo:  make demo ARGS="--help"
ARGS ?=
# Passed on to `swift test`:  make test TEST_ARGS="--filter PerdureLogTests"
TEST_ARGS ?=

SOURCES := Package.swift Sources Tests Proof Examples Benchmarks Scripts
# A wrong import direction never builds. Warnings stop a build only where STRICT is set, so that a newer
# compiler with new warnings does not lock anybody out.
BUILD_FLAGS := --explicit-target-dependency-import-check error
STRICT_FLAGS := $(BUILD_FLAGS) -Xswiftc -warnings-as-errors
TEST_BUILD_FLAGS := $(if $(STRICT),$(STRICT_FLAGS),$(BUILD_FLAGS))

.DEFAULT_GOAL := help
.PHONY: help setup build test test-release test-long prove sanitize demo lint format check bench bench-setup bench-log bench-compression bench-opening bench-objects bench-graph bench-tables test-benchmarks command-line-page clean coverage docs fuzz scanner-comparison

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Install liblz4 and pkg-config where they are missing
	@.ci/setup

build: setup ## Build everything for use
	$(SWIFT) build -c release $(BUILD_FLAGS)

test: setup ## Build and run all tests
	$(SWIFT) build --build-tests $(TEST_BUILD_FLAGS)
	$(SWIFT) test --skip-build $(TEST_BUILD_FLAGS) $(TEST_ARGS)

# In a folder of its own: what is built to be tested is not what users run.
RELEASE_TEST_FLAGS := -c release --scratch-path .build-release -Xswiftc -enable-testing $(BUILD_FLAGS)

test-release: setup ## Build and run all tests with optimisation
	$(SWIFT) build --build-tests $(RELEASE_TEST_FLAGS)
	$(SWIFT) test --skip-build $(RELEASE_TEST_FLAGS) $(TEST_ARGS)

# What is long goes where temporary files do: TMPDIR names a directory with 20 GiB of room.
test-long: setup ## Ten minutes of kills, a value of 4 GiB, 100 million keys, random graphs of a million steps, all interleavings: long
	$(SWIFT) build --build-tests $(RELEASE_TEST_FLAGS)
	PERDURE_KILLS=1600 PERDURE_LONG_VALUES=$${TMPDIR:-/tmp} PERDURE_KEYS=100000000 PERDURE_STEPS=1000000 \
	$(SWIFT) test --skip-build $(RELEASE_TEST_FLAGS) $(TEST_ARGS)

# In a folder of its own, as counting makes programs slow. The profiles are gathered here and not by the package manager,
# which takes none when one is cut short: some tests end a process in the midst of things, or leave it no room.
COVERAGE_FLAGS := --enable-code-coverage --scratch-path .build-coverage $(BUILD_FLAGS)

coverage: setup ## Count the lines that the tests run, module by module; the engine's come to 95 percent
	$(SWIFT) build --build-tests $(COVERAGE_FLAGS)
	rm -rf .build-coverage/profiles
	LLVM_PROFILE_FILE=$(CURDIR)/.build-coverage/profiles/%p.profraw \
	$(SWIFT) test --skip-build --scratch-path .build-coverage $(BUILD_FLAGS) $(TEST_ARGS)
	Scripts/coverage .build-coverage/debug/perdurePackageTests.xctest .build-coverage/profiles

# PROVE=slice is minutes, PROVE=hours ten times as much; ARGS chooses campaigns, a seed, a scale, a part.
PROVE ?= full
prove: setup ## Try to break the store: power cuts, failing disks, flipped bits, kills; long (PROVE=slice: minutes)
	$(SWIFT) run -c release $(BUILD_FLAGS) perdure-prove --proof $(PROVE) $(ARGS)

# Where threads meet, and where memory is handled by hand. A report ends a run with a code that is not 0. Leaks are
# not looked for: the libraries of the tests have some. Suites that measure memory are no use here: it is not the store's own.
SANITIZED_THREADS := ConcurrencyTests|SharedSyncTests|SegmentPreparationTests|SnapshotWalkTests|SnapshotKeysTests|OutlivingSnapshotTests|AutomaticCompactionTests|CheckpointBesideWritersTests|RacesTests|ModelsTests|ContentionTests|ReentrancyTests|CrowdTests|PersistentContainerTests|ContextEventTests|ContextEventEdgeTests|MergedEventTests|QueryGenerationTests
SANITIZED_MEMORY := $(SANITIZED_THREADS)|ModelsCanaryTests|StoreTests|PackedValueTests|DictionaryTests|GroupTests|GroupCacheTests|FileNodesTests|NodeFileTests|NodeArenaTests|OrderedCursorTests|CompactionTests|BlobWriterTests|HostileTests|HostileGraphTests|DecoderRobustnessTests|ExactSumTests|RotTests|FailureTests|CrashTests|SalvageTests|ScannerAgainstParserTests|HostileSourceTests

sanitize: setup ## Run what depends on threads and memory under the thread and the address sanitizer
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build-thread $(BUILD_FLAGS)
	TSAN_OPTIONS=halt_on_error=1 $(SWIFT) test --skip-build --sanitize=thread --scratch-path .build-thread $(BUILD_FLAGS) --filter "$(SANITIZED_THREADS)"
	$(SWIFT) build --build-tests --sanitize=address --scratch-path .build-address $(BUILD_FLAGS)
	ASAN_OPTIONS=detect_leaks=0 $(SWIFT) test --skip-build --sanitize=address --scratch-path .build-address $(BUILD_FLAGS) --filter "$(SANITIZED_MEMORY)"
# The decoder, and how many seconds; what it finds goes into a folder beside the build, and inputs that come to new places
# into FUZZ_CORPUS.
TARGET ?= record
TIME ?= 60
FUZZ_CORPUS ?= .build-fuzz/corpus/$(TARGET)
# The macros' plugin is linked with the same flags and has no use for them: it is left without what it lacks, and the
# compiler's word that it does not answer is of no account, as nothing here uses a macro.
FUZZ_FLAGS := -c release --scratch-path .build-fuzz -Xswiftc -sanitize=fuzzer,address -Xswiftc -DFUZZING -Xswiftc -parse-as-library \
  -Xlinker --unresolved-symbols=ignore-all

fuzz: setup ## Look for bytes that a decoder does not stand: make fuzz TARGET=record TIME=60
	$(SWIFT) build $(FUZZ_FLAGS) --product perdure-fuzz
	@mkdir -p $(FUZZ_CORPUS) Proof/Fuzzing/Corpus/$(TARGET)
	ASAN_OPTIONS=detect_leaks=0 PERDURE_FUZZ_SAMPLES=.build-fuzz/corpus .build-fuzz/release/perdure-fuzz
	ASAN_OPTIONS=detect_leaks=0 PERDURE_FUZZ_TARGET=$(TARGET) .build-fuzz/release/perdure-fuzz -max_total_time=$(TIME) -timeout=10 \
	  -rss_limit_mb=1024 -artifact_prefix=.build-fuzz/ $(FUZZ_CORPUS) Proof/Fuzzing/Corpus/$(TARGET)

# Our sources, and those of all packages that were fetched to build us, to measure us and to compare.
FOLDERS ?= $(wildcard $(SOURCES) .build/checkouts Benchmarks/.build/checkouts) Scripts/ScannerComparison/.build/checkouts

scanner-comparison: ## Hold the macros' scanner against SwiftParser: every class and struct in FOLDERS
	$(SWIFT) build --package-path Scripts/ScannerComparison
	Scripts/ScannerComparison/.build/debug/ScannerComparison $(FOLDERS)

demo: setup ## Import the Debian archive as an object graph and ask it questions
	$(SWIFT) run -c release $(BUILD_FLAGS) DebianArchive $(ARGS)

lint: setup ## Check the formatting
	$(SWIFT) format lint --strict --parallel --recursive $(wildcard $(SOURCES))

format: setup ## Format the sources in place
	$(SWIFT) format --in-place --parallel --recursive $(wildcard $(SOURCES))

check: lint ## Check formatting, import directions and that nothing warns
	$(SWIFT) build --build-tests $(STRICT_FLAGS)

# The path at which a web server serves the site, such as /perdure/.
DOCS_BASE ?= /

docs: setup ## Build the documentation as a site in .build/docs; warnings are errors
	$(SWIFT) build --target Perdure $(TEST_BUILD_FLAGS)
	$(SWIFT) build --target PerdureTestSupport $(TEST_BUILD_FLAGS)
	Scripts/build-docs .build/docs $(DOCS_BASE)
	@echo "To read it: python3 -m http.server --directory .build/docs"

bench: setup ## Measure beside SQLite
	@.ci/setup libsqlite3-dev
	$(SWIFT) run --package-path Benchmarks -c release ArchiveBenchmark --results Benchmarks/results/archive.json $(ARGS)

bench-setup: setup ## Install the engines that the benchmarks measure beside Perdure
	@.ci/setup liblmdb-dev librocksdb-dev libleveldb-dev libsqlite3-dev

bench-log: bench-setup ## Measure the engine alone beside LMDB, RocksDB, LevelDB and SQLite
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark --output Benchmarks/results $(ARGS)

bench-compression: bench-setup ## Measure what compression does to small records
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark compression --output Benchmarks/results

bench-opening: bench-setup ## Measure what opening costs, part by part
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark opening --output Benchmarks/results

bench-objects: setup ## Measure what objects cost beside those of a plain Swift class
	$(SWIFT) run --package-path Benchmarks -c release ObjectBenchmark --results Benchmarks/results/objects.json $(ARGS)

bench-graph: setup ## Measure a graph of objects beside SQLite, GRDB and plain classes
	@.ci/setup libsqlite3-dev
	$(SWIFT) run --package-path Benchmarks -c release GraphBenchmark --results Benchmarks/results/graph.json $(ARGS)

bench-tables: bench-setup ## Write what was measured into the tables of the documents
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark tables

command-line-page: setup ## Write the documentation page of the command line from its help
	$(SWIFT) build --product perdure $(BUILD_FLAGS)
	"$$($(SWIFT) build --show-bin-path)/perdure" help-page > Sources/Perdure/Perdure.docc/CommandLine.md

test-benchmarks: bench-setup ## Build and run the tests of the benchmarks
	$(SWIFT) test --package-path Benchmarks $(TEST_ARGS)

clean: ## Remove what was built
	$(SWIFT) package clean
	rm -rf .build-* Benchmarks/.build Scripts/ScannerComparison/.build
