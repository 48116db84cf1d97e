# One command for each task. `make help` lists them. Each installs what it needs.

SWIFT ?= swift
# Passed on to the demo:  make demo ARGS="--help"
ARGS ?=
# Passed on to `swift test`:  make test TEST_ARGS="--filter PerdureLogTests"
TEST_ARGS ?=

SOURCES := Package.swift Sources Plugins Tests Proof Examples Benchmarks Scripts
# An import that no dependency declares is an error. Warnings are errors only where STRICT is set, so
# that a newer compiler with new warnings still builds Perdure.
BUILD_FLAGS := --explicit-target-dependency-import-check error
STRICT_FLAGS := $(BUILD_FLAGS) -Xswiftc -warnings-as-errors
TEST_BUILD_FLAGS := $(if $(STRICT),$(STRICT_FLAGS),$(BUILD_FLAGS))

.DEFAULT_GOAL := help
.PHONY: help setup build test test-release test-long prove sanitize demo lint format check bench bench-setup bench-log bench-compression bench-opening bench-backup bench-objects bench-graph bench-instructions check-instructions bench-tables test-benchmarks test-service command-line-page clean coverage docs fuzz scanner-comparison

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Install liblz4 and pkg-config where they are missing
	@.ci/setup

build: setup ## Build everything for use
	$(SWIFT) build -c release $(BUILD_FLAGS)

test: setup ## Build and run all tests
	$(SWIFT) build --build-tests $(TEST_BUILD_FLAGS)
	$(SWIFT) test --skip-build $(TEST_BUILD_FLAGS) $(TEST_ARGS)

# In a folder of its own, because a build for tests differs from a build for users. Its compiler does not
# optimise the tests and the tools of the build, which are most of the code.
RELEASE_TEST_FLAGS := -c release -Xswiftc -enable-testing $(BUILD_FLAGS)
RELEASE_TEST := SWIFT_EXEC=$(CURDIR)/.build-release/compiler/bin/swiftc $(SWIFT)

test-release: setup ## Build and run all tests of the optimised code
	Scripts/release-test-compiler --install .build-release/compiler
	$(RELEASE_TEST) build --build-tests --scratch-path .build-release $(RELEASE_TEST_FLAGS)
	$(RELEASE_TEST) test --skip-build --scratch-path .build-release $(RELEASE_TEST_FLAGS) $(TEST_ARGS)

# The large files are written to TMPDIR, which needs 20 GiB of free space. MODEL_CORPUS is a folder of model
# files of Core Data, whose classes are generated, compiled and used too. The tests are optimised, because
# long runs spend much of their time in them.
MODEL_CORPUS ?= $(PERDURE_MODEL_CORPUS)
test-long: setup ## Run all tests, with 1,600 kills, a value of 4 GiB, 100 million keys and random graphs of a million steps; long
	$(SWIFT) build --build-tests --scratch-path .build-long $(RELEASE_TEST_FLAGS)
	PERDURE_KILLS=1600 PERDURE_LONG_VALUES=$${TMPDIR:-/tmp} PERDURE_KEYS=100000000 PERDURE_STEPS=1000000 \
	$(if $(MODEL_CORPUS),PERDURE_MODEL_CORPUS="$(MODEL_CORPUS)") $(SWIFT) test --skip-build --scratch-path .build-long $(RELEASE_TEST_FLAGS) $(TEST_ARGS)

# In a folder of its own, because counting makes programs slow. Profiles are merged here: the package
# manager merges none if one is incomplete, and some tests kill a process or leave it no disk space.
COVERAGE_FLAGS := --enable-code-coverage --scratch-path .build-coverage $(BUILD_FLAGS)

coverage: setup ## Count the lines that the tests run, for each module (the engine: 95 percent)
	$(SWIFT) build --build-tests $(COVERAGE_FLAGS)
	rm -rf .build-coverage/profiles
	LLVM_PROFILE_FILE=$(CURDIR)/.build-coverage/profiles/%p.profraw \
	$(SWIFT) test --skip-build --scratch-path .build-coverage $(BUILD_FLAGS) $(TEST_ARGS)
	Scripts/coverage .build-coverage/debug/perdurePackageTests.xctest .build-coverage/profiles

# PROVE=slice takes minutes, PROVE=hours ten times as long. ARGS selects campaigns, a seed, a scale or a part.
PROVE ?= full
prove: setup ## Test the store with power cuts, failing disks, flipped bits and kills (about 45 minutes; PROVE=slice: minutes)
	$(SWIFT) run -c release $(BUILD_FLAGS) perdure-prove --proof $(PROVE) $(ARGS)

# Suites that use several threads, and suites that manage memory by hand. A report makes the run fail.
# Leaks are not searched for, because the libraries of the tests have some. Suites that measure memory
# are left out, because the sanitizers use memory too.
SANITIZED_THREADS := ConcurrencyTests|SharedSyncTests|SegmentPreparationTests|SnapshotWalkTests|SnapshotKeysTests|OutlivingSnapshotTests|AutomaticCompactionTests|CheckpointBesideWritersTests|RacesTests|ModelsTests|ContentionTests|ReentrancyTests|CrowdTests|PersistentContainerTests|ContextEventTests|ContextEventEdgeTests|MergedEventTests|QueryGenerationTests|BackupTests|BackupPaceTests|TaskLimiterTests|ClosingTests|LockTimeoutTests|FolderBackgroundTests|UndoTaskTests
SANITIZED_MEMORY := $(SANITIZED_THREADS)|ModelsCanaryTests|StoreTests|PackedValueTests|DictionaryTests|GroupTests|GroupCacheTests|FileNodesTests|NodeFileTests|NodeArenaTests|OrderedCursorTests|CompactionTests|BlobWriterTests|HostileTests|HostileGraphTests|DecoderRobustnessTests|ExactSumTests|RotTests|FailureTests|CrashTests|SalvageTests|ScannerAgainstParserTests|HostileSourceTests|NaiveStoreTests|FailedRequestTests|RandomGraphTests|UndoTests

sanitize: setup ## Run the tests of threads and memory under the thread and the address sanitizer
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build-thread $(BUILD_FLAGS)
	TSAN_OPTIONS=halt_on_error=1 $(SWIFT) test --skip-build --sanitize=thread --scratch-path .build-thread $(BUILD_FLAGS) --filter "$(SANITIZED_THREADS)"
	$(SWIFT) build --build-tests --sanitize=address --scratch-path .build-address $(BUILD_FLAGS)
	ASAN_OPTIONS=detect_leaks=0 $(SWIFT) test --skip-build --sanitize=address --scratch-path .build-address $(BUILD_FLAGS) --filter "$(SANITIZED_MEMORY)"

# TARGET is the decoder, TIME the number of seconds. Failing inputs are written to the build folder, and
# inputs that reach new code to FUZZ_CORPUS.
TARGET ?= record
TIME ?= 60
FUZZ_CORPUS ?= .build-fuzz/corpus/$(TARGET)
# The plugin of the macros is linked with the same flags, and its missing symbols are ignored. Ignore the
# compiler's message that the plugin does not respond: no macro is used here.
FUZZ_FLAGS := -c release --scratch-path .build-fuzz -Xswiftc -sanitize=fuzzer,address -Xswiftc -DFUZZING -Xswiftc -parse-as-library \
  -Xlinker --unresolved-symbols=ignore-all

fuzz: setup ## Search for bytes that crash a decoder: make fuzz TARGET=record TIME=60
	$(SWIFT) build $(FUZZ_FLAGS) --product perdure-fuzz
	@mkdir -p $(FUZZ_CORPUS) Proof/Fuzzing/Corpus/$(TARGET)
	ASAN_OPTIONS=detect_leaks=0 PERDURE_FUZZ_SAMPLES=.build-fuzz/corpus .build-fuzz/release/perdure-fuzz
	ASAN_OPTIONS=detect_leaks=0 PERDURE_FUZZ_TARGET=$(TARGET) .build-fuzz/release/perdure-fuzz -max_total_time=$(TIME) -timeout=10 \
	  -rss_limit_mb=1024 -artifact_prefix=.build-fuzz/ $(FUZZ_CORPUS) Proof/Fuzzing/Corpus/$(TARGET)

# The sources of Perdure, and of all packages that were fetched for builds, benchmarks and this comparison.
FOLDERS ?= $(wildcard $(SOURCES) .build/checkouts Benchmarks/.build/checkouts) Scripts/ScannerComparison/.build/checkouts

scanner-comparison: ## Compare the scanner of the macros with SwiftParser, for every class and struct in FOLDERS
	$(SWIFT) build --package-path Scripts/ScannerComparison
	Scripts/ScannerComparison/.build/debug/ScannerComparison $(FOLDERS)

demo: setup ## Import the Debian archive as an object graph and run queries on it
	$(SWIFT) run -c release $(BUILD_FLAGS) DebianArchive $(ARGS)

lint: setup ## Check the formatting
	$(SWIFT) format lint --strict --parallel --recursive $(wildcard $(SOURCES))

format: setup ## Format the sources in place
	$(SWIFT) format --in-place --parallel --recursive $(wildcard $(SOURCES))

check: lint ## Check the formatting and the imports, and build without warnings
	$(SWIFT) build --build-tests $(STRICT_FLAGS)

# The path of the site on the web server, such as /perdure/.
DOCS_BASE ?= /

docs: setup ## Build the documentation as a site in .build/docs; warnings are errors
	$(SWIFT) build --target Perdure $(TEST_BUILD_FLAGS)
	$(SWIFT) build --target PerdureTestSupport $(TEST_BUILD_FLAGS)
	Scripts/build-docs .build/docs $(DOCS_BASE)
	@echo "To read it: python3 -m http.server --directory .build/docs"

bench: setup ## Compare the import of an archive with SQLite
	@.ci/setup libsqlite3-dev
	$(SWIFT) run --package-path Benchmarks -c release ArchiveBenchmark --results Benchmarks/results/archive.json $(ARGS)

bench-setup: setup ## Install the other engines that the benchmarks measure
	@.ci/setup liblmdb-dev librocksdb-dev libleveldb-dev libsqlite3-dev

bench-log: bench-setup ## Compare the engine alone with LMDB, RocksDB, LevelDB and SQLite
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark --output Benchmarks/results $(ARGS)

bench-compression: bench-setup ## Measure the compression of small records
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark compression --output Benchmarks/results

bench-backup: bench-setup ## Measure commits during a backup
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark backup --output Benchmarks/results

bench-opening: bench-setup ## Measure the parts of an opening
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark opening --output Benchmarks/results

bench-objects: setup ## Compare objects with those of a plain Swift class
	$(SWIFT) run --package-path Benchmarks -c release ObjectBenchmark --results Benchmarks/results/objects.json $(ARGS)

bench-graph: setup ## Compare a graph of objects with SQLite, GRDB and plain classes
	@.ci/setup libsqlite3-dev
	$(SWIFT) run --package-path Benchmarks -c release GraphBenchmark --results Benchmarks/results/graph.json $(ARGS)

# The counts depend on the compiler and on the C library, but not on other work of the machine.
INSTRUCTIONS := $(SWIFT) run --package-path Benchmarks -c release InstructionBenchmark

bench-instructions: setup ## Count the instructions of operations on objects under valgrind, and write the tables
	@.ci/setup valgrind binutils
	$(INSTRUCTIONS) record --results Benchmarks/results/instructions.json --document Benchmarks/README.md $(ARGS)

check-instructions: setup ## Count the same, and fail if a count differs by more than 5 percent from the table
	@.ci/setup valgrind binutils
	$(INSTRUCTIONS) check --results Benchmarks/results/instructions.json $(ARGS)

bench-tables: bench-setup ## Write the results of benchmarks into the tables of the documents
	$(SWIFT) run --package-path Benchmarks -c release LogBenchmark tables

command-line-page: setup ## Write the documentation page of the command line from its help
	$(SWIFT) build --product perdure $(BUILD_FLAGS)
	"$$($(SWIFT) build --show-bin-path)/perdure" help-page > Sources/Perdure/Perdure.docc/CommandLine.md

test-benchmarks: bench-setup ## Build and run the tests of the benchmarks
	$(SWIFT) test --package-path Benchmarks $(TEST_ARGS)

test-service: setup ## Build and run the tests of the HTTP service
	$(SWIFT) test --package-path Examples/Service $(TEST_ARGS)

clean: ## Remove all builds
	$(SWIFT) package clean
	rm -rf .build-* Benchmarks/.build Examples/Service/.build Scripts/ScannerComparison/.build
