#!/usr/bin/env python3
"""Gathers a folder that runs without Rust: programs, tests, bench gpu, decks, recorded sweeps, README, run-tests.sh; and a tar.gz of it.

    { cargo test --workspace --no-run --message-format=json; cargo bench --bench gpu --no-run --message-format=json; } |
        .ci/dist.py FOLDER NAME=PROGRAM...

The folder is made anew. Tests that read the repository's files or start an MPI themselves stay here.
"""
import json, os, shutil, subprocess, sys, tarfile

LEFT_OUT = {"layers", "library", "mpi", "gpus", "ranks"}


def strip(path):
    subprocess.run(["strip", "--strip-unneeded", path], check=True)


def main():
    folder, programs = sys.argv[1], dict(argument.split("=", 1) for argument in sys.argv[2:])
    tests = {}
    for line in sys.stdin:
        message = json.loads(line)
        if message["reason"] != "compiler-artifact" or not message["executable"]:
            continue
        target = message["target"]
        if target["kind"] == ["bench"]:
            programs[f"bench-{target['name']}"] = message["executable"]
        elif message["profile"]["test"]:
            name = target["name"] if target["kind"][0] in ("test", "bin") else target["kind"][0]
            if name not in LEFT_OUT:
                tests[name] = message["executable"]
    missing = {"lib", "spaces", "contractions", "minifenl-contractions"} - tests.keys()
    if missing:
        raise SystemExit(f"dist: no test executables {sorted(missing)} among {sorted(tests)}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/tests")
    for name, path in list(programs.items()) + [(f"tests/{name}", path) for name, path in tests.items()]:
        shutil.copy2(path, f"{folder}/{name}")
        strip(f"{folder}/{name}")
    for path in ["inputs", "docs/contractions"]:
        shutil.copytree(path, f"{folder}/{path}")
    shutil.copytree("kernels", f"{folder}/kernels", ignore=shutil.ignore_patterns("device", "*.csv"))
    for page in ["flags", "report", "architecture", "reliability"]:
        shutil.copy2(f"docs/{page}.md", f"{folder}/docs/{page}.md")
    for path in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "tests/run-tests.sh", "tests/summary.sh"]:
        shutil.copy2(path, folder)
    name = os.path.basename(folder)
    with tarfile.open(f"{folder}.tar.gz", "w:gz", compresslevel=6) as archive:
        archive.add(folder, name)
    size = lambda path: f"{os.path.getsize(path) / 2**20:.1f} MiB"
    print(f"{folder}: {', '.join(programs)}; tests {', '.join(sorted(tests))}; {folder}.tar.gz {size(f'{folder}.tar.gz')}")


main()
