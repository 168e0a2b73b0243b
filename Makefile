# minifenl: make run, make test, make lint, make bench, make dist. Installs what is missing, or says what to install.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PACKAGES := openmpi-bin libopenmpi-dev libclang-dev
TYPOS := target/tools/bin/typos
MESHIO_VERSION := 5.3.5
MESHIO := target/tools/meshio-$(MESHIO_VERSION)
TYPOS_VERSION := 1.52.0
MATPLOTLIB_VERSION := 3.11.2
# NVRTC, ptxas and nvdisasm from NVIDIA's wheels: kernels are compiled and inspected without a GPU.
CUDA_VERSION := 13.0.88
NVDISASM_VERSION := 13.5.37
CUDA := target/tools/cuda-$(CUDA_VERSION)
# Builds and tests the wheel.
PYTHON := target/tools/python-2
# NumPy, SciPy and scikit-fem as the Python at hand allows.
PYTHON_PACKAGES := maturin==1.16.0 pytest==9.2.0 hypothesis==6.170.17 meshio==$(MESHIO_VERSION) matplotlib==$(MATPLOTLIB_VERSION) numpy scipy scikit-fem
RANKS ?= 4
ARGS ?= --nodes 64

# More ranks than cores are fine; as root mpirun wants to be told so.
export OMPI_MCA_rmaps_base_oversubscribe := 1
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

.PHONY: help run test python interop msrv install mutants lint bench plot contractions dist setup build
help: ## this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /make \1\t/'

setup: ## an MPI and libclang
	@missing=""; \
	command -v mpicc >/dev/null && command -v mpirun >/dev/null || missing=yes; \
	ls /usr/lib/llvm*/lib/libclang*.so* /usr/lib/*/libclang*.so* >/dev/null 2>&1 || \
	    ls /usr/lib/llvm*/lib/libclang*.so* >/dev/null 2>&1 || [ -n "$${LIBCLANG_PATH:-}" ] || missing=yes; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	    echo "missing: an MPI with mpicc and mpirun, and libclang; install them with this system's package manager"; exit 1; \
	elif [ "$$(id -u)" = 0 ]; then sudo=""; \
	elif sudo -n true 2>/dev/null; then sudo=sudo; \
	else echo "missing packages; run: sudo apt-get install $(PACKAGES)"; exit 1; fi; \
	$$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -qy --no-install-recommends $(PACKAGES)

# Without the bridges to other libraries' matrices, which the program does not use.
build: setup ## the main program, optimised, with MPI
	cargo build --release --no-default-features --features cli,cuda,mpi

# The main job by the papers' algorithms, the default, then by the fastest, of which it shows the rating only.
PRESETS := $(if $(findstring --preset,$(ARGS)),,papers fast)
run: build ## the main job on 4 ranks (RANKS=4 ARGS="--nodes 64")
	mpirun -n $(RANKS) target/release/minifenl $(ARGS) | tee target/run-papers.txt
	@for preset in $(wordlist 2,2,$(PRESETS)); do \
	    mpirun -n $(RANKS) target/release/minifenl $(ARGS) --preset $$preset > target/run-$$preset.txt; done
	@for preset in $(PRESETS); do \
	    echo "--preset $$preset: $$(sed -n 's/^rating *//p' target/run-$$preset.txt)"; done
	@if [ -n "$(PRESETS)" ]; then \
	    sed -n 's/^rating.*, \([0-9.e+]*\) unknowns.*/\1/p' target/run-papers.txt target/run-fast.txt | \
	        awk 'NR == 1 { papers = $$1 } NR == 2 { printf "fast solves %.2f times as many unknowns per second as papers\n", $$1 / papers }'; fi

$(CUDA):
	python3 -m venv target/tools/cuda
	target/tools/cuda/bin/pip install -q --no-deps nvidia-cuda-nvrtc==$(CUDA_VERSION) nvidia-cuda-nvcc==$(CUDA_VERSION)
	ln -sfn "$$(target/tools/cuda/bin/python -c 'import os, sysconfig; print(os.path.relpath(sysconfig.get_path("purelib"), "target/tools"))')/nvidia/cu13" $@

$(CUDA)/bin/nvdisasm: | $(CUDA)
	target/tools/cuda/bin/pip install -q --no-deps nvidia-cuda-nvdisasm==$(NVDISASM_VERSION)

# Every test runs once, with one set of features, so that nothing is compiled twice; `make lint` compiles the other sets. A test that
# lacks a GPU adds a line to the file MINIFENL_SKIPPED.
TESTED := minifenl/mpi,minifenl/faults,minifenl-minimd/mpi,minifenl-scaling/mpi
test mutants: export LD_LIBRARY_PATH := $(if $(LD_LIBRARY_PATH),$(LD_LIBRARY_PATH):)$(CURDIR)/$(CUDA)/lib
test mutants: export MINIFENL_PTXAS := $(CURDIR)/$(CUDA)/bin/ptxas
test mutants: export MINIFENL_NVDISASM := $(CURDIR)/$(CUDA)/bin/nvdisasm
test mutants: export MINIFENL_NEEDS_NVRTC := 1
test: export MINIFENL_SKIPPED := $(CURDIR)/target/skipped.log
test: setup $(CUDA)/bin/nvdisasm $(MESHIO) $(PYTHON) ## every test, and how many passed, failed and were skipped
	@mkdir -p target && : > "$$MINIFENL_SKIPPED"
	@failed=0; \
	cargo test --workspace --features $(TESTED) --no-fail-fast 2>&1 | tee target/test.log || failed=1; \
	$(MESHIO)/bin/python tests/vtk.py target/debug/minifenl mpirun 2>&1 | tee -a target/test.log || failed=1; \
	CARGO_TARGET_DIR=target/models cargo test --manifest-path tests/models/Cargo.toml 2>&1 | tee -a target/test.log || failed=1; \
	$(TEST_WHEEL) 2>&1 | tee -a target/test.log || failed=1; \
	tests/summary.sh target/test.log "$$MINIFENL_SKIPPED" || failed=1; \
	exit $$failed

# From an empty folder, so that the package is the installed one.
TEST_WHEEL = rm -rf target/wheels && $(PYTHON)/bin/maturin build -q --profile wheel -m python/Cargo.toml -o target/wheels && \
    $(PYTHON)/bin/python -m pip install -q --force-reinstall --no-deps target/wheels/*.whl && mkdir -p target/wheels/empty && \
    (cd target/wheels/empty && ../../../$(PYTHON)/bin/python -m pytest -q -p no:cacheprovider ../../../python/tests)
python: $(PYTHON) ## the wheel for Python in target/wheels, tested
	$(TEST_WHEEL)

# Not part of `make test`: faer takes longer to compile than this library.
interop: ## the recipe of docs/interop.md for faer
	CARGO_TARGET_DIR=target/faer cargo test --manifest-path tests/faer/Cargo.toml

# MUTANTS="--only NAME" runs one; tests/mutants.py --help says more.
MUTANTS ?=
mutants: setup $(CUDA)/bin/nvdisasm ## plausible mistakes, one at a time: each must be caught by a test
	tests/mutants.py $(MUTANTS)

$(TYPOS):
	python3 -m venv target/tools
	target/tools/bin/pip install -q typos==$(TYPOS_VERSION)

# Reads the files of --vtk.
$(MESHIO):
	rm -rf $@.new && python3 -m venv $@.new && $@.new/bin/pip install -q meshio==$(MESHIO_VERSION) && mv $@.new $@

$(PYTHON):
	rm -rf $@.new && python3 -m venv $@.new && $@.new/bin/python -m pip install -q $(PYTHON_PACKAGES) && mv $@.new $@

lint: setup $(TYPOS) ## format, clippy, documentation, spelling, layers
	cargo fmt --all --check
	cargo clippy -q --workspace --all-targets -- -D warnings
	cargo clippy -q -p minifenl -p minifenl-scaling -p minifenl-minimd --all-targets --features $(TESTED) -- -D warnings
	cargo clippy -q --all-targets --no-default-features -- -D warnings
	cargo clippy -q --no-default-features --features cli,cuda,mpi -- -D warnings
	for features in complex,dashmap,sprs cuda; do \
	    cargo clippy -q --lib --no-default-features --features $$features -- -D warnings; done
	cargo clippy -q -p minifenl-contractions --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc -q --no-deps --lib
	$(TYPOS)
	cargo test -q -p minifenl-layers
	tests/mutants.py --check

# The toolchain that Cargo.toml names as the oldest, in a folder of its own; clippy's lint `incompatible_msrv` in `make lint` knows the
# standard library only, a compiler also syntax and dependencies.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv: ## the library, the programs and the examples with the oldest Rust that is supported
	rustup toolchain list | grep -q '^$(MSRV)' || rustup toolchain install $(MSRV) --profile minimal --no-self-update
	CARGO_TARGET_DIR=target/msrv cargo +$(MSRV) check --locked --workspace --lib --bins --examples

# The stripped program, decks, man page and completions. DESTDIR is for makers of packages.
PREFIX ?= $(HOME)/.local
DESTDIR ?=
FEATURES ?= mpi
SHARE = $(DESTDIR)$(PREFIX)/share
PROGRAM = $(or $(CARGO_TARGET_DIR),target)/dist/minifenl
install: $(if $(filter mpi,$(FEATURES)),setup) ## both programs, decks, man page, completions (PREFIX=~/.local FEATURES=mpi, FEATURES= without MPI)
	cargo build --profile dist --features "$(FEATURES)"
	cargo build --profile dist -p minifenl-scaling
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/minifenl
	install -D -m 755 $(PROGRAM)-scaling $(DESTDIR)$(PREFIX)/bin/minifenl-scaling
	install -d $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(PROGRAM) --man > $(SHARE)/man/man1/minifenl.1
	$(PROGRAM) --completions bash > $(SHARE)/bash-completion/completions/minifenl
	$(PROGRAM) --completions zsh > $(SHARE)/zsh/site-functions/_minifenl
	$(PROGRAM) --completions fish > $(SHARE)/fish/vendor_completions.d/minifenl.fish
	install -D -m 644 -t $(SHARE)/minifenl/inputs inputs/*.toml

bench: ## criterion benches
	cargo bench

MATPLOTLIB := target/tools/plot/bin/python
$(MATPLOTLIB):
	python3 -m venv target/tools/plot
	target/tools/plot/bin/pip install -q matplotlib==$(MATPLOTLIB_VERSION)

JSON ?= gpu.json cpu.json
OUT ?= bandwidth
plot: $(MATPLOTLIB) ## GB/s against size, GPU beside CPU (JSON="gpu.json cpu.json" OUT=bandwidth)
	$(MATPLOTLIB) benches/plot.py $(JSON) --out $(OUT)

# Every figure of the clinic report: minutes on a GPU, longer on a CPU. A CPU run lacks the GPU variants and never overwrites GPU
# tables: make contractions DEVICE=cpu TABLES=/tmp/contractions. The tuning table of `auto` is compiled into the program that
# makes it; it is replaced whole.
DEVICE ?= auto
TABLES ?= docs/contractions
contractions: ## the contraction sweeps: tables, figures, claims, tuning table of auto (DEVICE=auto TABLES=docs/contractions)
	cargo run --release -p minifenl-contractions -- inputs/contractions/*.toml --device $(DEVICE) --out $(TABLES)
	cargo run -q --release -p minifenl-contractions -- --claims $(TABLES)/*.csv --to $(TABLES)/claims.md
ifeq ($(TABLES),docs/contractions)
	cargo run -q --release -p minifenl-contractions -- --learn $(TABLES)/*.csv --to src/contraction/auto.csv
endif

# The main program twice: without MPI, for machines that have none, and with it.
TARGET := $(or $(CARGO_TARGET_DIR),target)
DIST := dist/minifenl-$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)-$(shell uname -m)
dist: setup ## a folder and a tar.gz that run without Rust: programs, tests, bench gpu, decks
	cargo build --release --workspace
	mkdir -p dist && cp $(TARGET)/release/minifenl dist/minifenl-solo
	cargo build --release --features mpi
	cp $(TARGET)/release/minifenl dist/minifenl-mpi
	cargo build --release --features faults
	cp $(TARGET)/release/minifenl dist/minifenl-faults
	{ cargo test --workspace --no-run --message-format=json; cargo test --features faults --test faults --no-run --message-format=json; \
	    cargo bench --bench gpu --bench library_gpu --no-run --message-format=json; } | \
	    .ci/dist.py $(DIST) minifenl=dist/minifenl-solo minifenl-mpi=dist/minifenl-mpi minifenl-faults=dist/minifenl-faults \
	    minifenl-contractions=$(TARGET)/release/minifenl-contractions minifenl-scaling=$(TARGET)/release/minifenl-scaling \
	    minifenl-kernels=$(TARGET)/release/minifenl-kernels minifenl-minimd=$(TARGET)/release/minifenl-minimd
	rm dist/minifenl-solo dist/minifenl-mpi dist/minifenl-faults

# Long checks beside `make test`. Each prints its counts; docs/reliability.md says what they found.
.PHONY: fuzz models tsan miri coverage
HOST := $(shell rustc -vV | sed -n 's/^host: //p')

# libFuzzer with the coverage counters of LLVM, which stable Rust offers as a pass. An input that fails lies in target/fuzz.
SECONDS ?= 60
TARGETS ?= deck names tuning graph crs map
KEEP ?=
SANCOV := -Ccodegen-units=1 -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)
fuzz: ## coverage-guided fuzzing of every reader (SECONDS=60 per target, TARGETS="deck crs", KEEP=yes extends the corpus)
	RUSTFLAGS="--cfg fuzzing $(SANCOV)" CARGO_TARGET_DIR=target/fuzz \
	    cargo build --release --manifest-path tests/library/fuzz/guided/Cargo.toml --target $(HOST)
	@for target in $(TARGETS); do \
	    mkdir -p target/fuzz/found/$$target; log=target/fuzz/$$target.log; \
	    export MINIFENL_FUZZ_TARGET=$$target; fuzz=target/fuzz/$(HOST)/release/minifenl-fuzz; \
	    $$fuzz target/fuzz/found/$$target tests/library/fuzz/corpus/$$target -max_total_time=$(SECONDS) -max_len=1024 \
	        -rss_limit_mb=2048 -timeout=10 -artifact_prefix=target/fuzz/failed-$$target- -print_final_stats=1 > $$log 2>&1 || \
	        { tail -20 $$log; echo "$$target failed: the input is target/fuzz/failed-$$target-*"; exit 1; }; \
	    echo "$$target: $$(sed -n 's/^stat::number_of_executed_units: *//p' $$log) executions, $$(ls target/fuzz/found/$$target | wc -l) inputs found"; \
	    if [ -n "$(KEEP)" ]; then $$fuzz -merge=1 -max_len=1024 tests/library/fuzz/corpus/$$target target/fuzz/found/$$target >> $$log 2>&1; fi; \
	done

models: ## every order of threads through the lock-free insert and atomic sums (loom)
	CARGO_TARGET_DIR=target/models cargo test --manifest-path tests/models/Cargo.toml -- --nocapture

# The standard library is not instrumented, and rayon's callers wait for its threads by locks of it: tests/tsan.patch replaces
# those in a copy of rayon-core, and tests/tsan.txt suppresses what is left, with reasons. Cargo.lock is put back afterwards.
TSAN_TESTS ?= space:: graph:: fill:: blas:: sparse::
tsan: ## unit tests of the parallel modules under ThreadSanitizer (needs the nightly toolchain)
	@mkdir -p target/tsan && rm -rf target/tsan/rayon-core && cp Cargo.lock target/tsan/Cargo.lock
	@cp -r "$$(cargo metadata --locked --format-version 1 | python3 -c 'import json, os, sys; \
	    print(*[os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "rayon-core"])')" \
	    target/tsan/rayon-core
	patch -s -p1 -d target/tsan/rayon-core < tests/tsan.patch
	@trap 'cp target/tsan/Cargo.lock Cargo.lock' EXIT; \
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.txt" CARGO_TARGET_DIR=target/tsan \
	    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
	    cargo +nightly test --config 'patch.crates-io.rayon-core.path="target/tsan/rayon-core"' \
	    --no-default-features --target $(HOST) --lib -- $(TSAN_TESTS)

# Rayon keeps its threads to the end (leaks) and converts pointers to integers and back (provenance). `madvise` is unknown to Miri.
MIRI_TESTS ?= space::atomic space::memory space::view space::scan graph::host::pair_map graph::host::lists fill::host::blocks
miri: ## unit tests over the unsafe code of the host under Miri (needs the nightly toolchain with miri and rust-src)
	@cargo +nightly miri --version >/dev/null 2>&1 || { echo "Miri is missing; run: rustup +nightly component add miri rust-src"; exit 1; }
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-permissive-provenance" CARGO_TARGET_DIR=target/miri \
	    cargo +nightly miri test --no-default-features --lib -- $(MIRI_TESTS) --skip large_arrays --skip concurrent_adds

COVERAGE_VERSION := 0.9.1
$(CURDIR)/target/tools/bin/cargo-llvm-cov:
	CARGO_TARGET_DIR=target/tools/build cargo install -q --locked cargo-llvm-cov --version $(COVERAGE_VERSION) --root target/tools
	rm -rf target/tools/build

# llvm-cov and llvm-profdata are those of `rustup component add llvm-tools` or, if there are none, Debian's of the same LLVM.
LLVM := $(shell rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
coverage: export PATH := $(CURDIR)/target/tools/bin:$(PATH)
coverage: export LD_LIBRARY_PATH := $(if $(LD_LIBRARY_PATH),$(LD_LIBRARY_PATH):)$(CURDIR)/$(CUDA)/lib
coverage: export MINIFENL_PTXAS := $(CURDIR)/$(CUDA)/bin/ptxas
coverage: export MINIFENL_NVDISASM := $(CURDIR)/$(CUDA)/bin/nvdisasm
coverage: export CARGO_TARGET_DIR := $(CURDIR)/target/coverage
ifneq ($(shell command -v llvm-cov-$(LLVM)),)
coverage: export LLVM_COV ?= llvm-cov-$(LLVM)
coverage: export LLVM_PROFDATA ?= llvm-profdata-$(LLVM)
endif
coverage: setup $(CUDA)/bin/nvdisasm $(CURDIR)/target/tools/bin/cargo-llvm-cov ## line and region coverage of all tests, per module
	cargo llvm-cov clean --workspace
	cargo llvm-cov test --no-report --workspace --features $(TESTED)
	cargo llvm-cov report --failure-mode all --json --summary-only --output-path target/coverage.json
	tests/coverage.py target/coverage.json
