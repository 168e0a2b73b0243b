//! Every kernel file compiles for every kind of GPU that we know, without a GPU; and no kernel takes more registers or
//! spills more bytes than `kernels/limits.csv` allows it.
//!
//! Needs NVRTC on the library path, and ptxas at `MINIFENL_PTXAS`; `make test` fetches both. Without them the tests say so
//! and pass, unless `MINIFENL_NEEDS_NVRTC` is set.

#![cfg(feature = "cuda")]

use minifenl::contraction::element_sources;
use minifenl::space::cuda::{Target, sources};
use std::collections::BTreeMap;
use std::process::Command;

/// A100, H200, B200.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];
/// The one whose registers are counted, and as NVRTC calls it when it is to give PTX.
const COUNTED: (&str, &str) = ("sm_90", "compute_90");
const LIMITS: &str = include_str!("../kernels/limits.csv");
/// For a kernel without a line in the table: the most registers that a thread can have, no spills.
const DEFAULT: Limit = Limit { registers: 255, spill: 0 };

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    registers: u32,
    spill: u32,
}

/// `file,kernel,registers,spill bytes` a line; what follows a `#` is a comment.
fn limits(text: &str) -> BTreeMap<(String, String), Limit> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty());
    lines
        .map(|line| match line.split(',').map(str::trim).collect::<Vec<_>>()[..] {
            [file, kernel, registers, spill] => {
                let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("limits.csv: {line}"));
                ((file.into(), kernel.into()), Limit { registers: number(registers), spill: number(spill) })
            }
            _ => panic!("limits.csv: {line}"),
        })
        .collect()
}

/// What `ptxas -v` says of each kernel.
fn usage(log: &str) -> Vec<(String, Limit)> {
    let mut found: Vec<(String, Limit)> = Vec::new();
    for line in log.lines() {
        let number_before = |words: &str| {
            let before = line.split_once(words)?.0.trim_end();
            before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            found.push((rest.split('\'').next().unwrap_or("").into(), Limit { registers: 0, spill: 0 }));
        } else if let Some((_, usage)) = found.last_mut() {
            usage.registers = usage.registers.max(number_before(" registers").unwrap_or(0));
            let spill = number_before(" bytes spill stores").max(number_before(" bytes spill loads"));
            usage.spill = usage.spill.max(spill.unwrap_or(0));
        }
    }
    found
}

/// Whether a tool is missing that the test cannot do without.
fn is_skipped(test: &str, missing: Option<String>) -> bool {
    let Some(why) = missing else { return false };
    assert!(std::env::var_os("MINIFENL_NEEDS_NVRTC").is_none(), "{test}: {why}");
    eprintln!("skipped 1: {test}: {why}");
    true
}

#[test]
fn every_file_compiles_for_every_architecture() {
    let missing = Target::architecture(COUNTED.0).err().map(|error| error.to_string());
    if is_skipped("every_file_compiles_for_every_architecture", missing) {
        return;
    }
    let faults: Vec<String> = std::thread::scope(|scope| {
        let jobs = ARCHITECTURES.map(|architecture| {
            scope.spawn(move || {
                let target = Target::architecture(architecture).unwrap();
                sources()
                    .filter_map(|(name, text)| target.compile(name, &text).err())
                    .map(|error| error.to_string())
                    .collect::<Vec<_>>()
            })
        });
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What ptxas makes of a file's kernels; `target` gives PTX.
fn compiled(
    target: &Target,
    architecture: &str,
    ptxas: &std::ffi::OsStr,
    file: &str,
    text: &str,
) -> Vec<(String, Limit)> {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("kernels.ptx");
    let image = target.compile(file, text).unwrap();
    std::fs::write(&ptx, image.strip_suffix(b"\0").unwrap_or(&image)).unwrap();
    let mut command = Command::new(ptxas);
    command.args(["-v", "-arch", architecture]).arg(&ptx).arg("-o").arg(ptx.with_extension("cubin"));
    let output = command.output().unwrap_or_else(|error| panic!("{ptxas:?}: {error}"));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}.cu: {log}");
    usage(&log)
}

/// The contractions of finite elements, compiled for their sizes: none spills, on any kind of GPU.
#[test]
fn contractions_of_elements_do_not_spill() {
    let ptxas =
        std::env::var_os("MINIFENL_PTXAS").ok_or("MINIFENL_PTXAS names no ptxas (`make test` does)".to_string());
    let missing = Target::architecture(COUNTED.0).err().map(|error| error.to_string()).or(ptxas.clone().err());
    if is_skipped("contractions_of_elements_do_not_spill", missing) {
        return;
    }
    let (ptxas, sources) = (ptxas.unwrap(), element_sources());
    let faults: Vec<String> = std::thread::scope(|scope| {
        let jobs = ARCHITECTURES.map(|architecture| {
            let (ptxas, sources) = (&ptxas, &sources);
            scope.spawn(move || {
                let target = Target::architecture(&architecture.replace("sm", "compute")).unwrap();
                let mut faults = Vec::new();
                for (name, text) in sources {
                    for (_, used) in compiled(&target, architecture, ptxas, name, text) {
                        if architecture == COUNTED.0 {
                            println!("{name},{},{}", used.registers, used.spill);
                        }
                        if used.spill > 0 {
                            faults.push(format!("{name} on {architecture}: {} bytes spilled", used.spill));
                        }
                    }
                }
                faults
            })
        });
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn registers_and_spills_keep_their_limits() {
    let target = Target::architecture(COUNTED.1);
    let ptxas =
        std::env::var_os("MINIFENL_PTXAS").ok_or("MINIFENL_PTXAS names no ptxas (`make test` does)".to_string());
    let missing = target.as_ref().err().map(ToString::to_string).or(ptxas.clone().err());
    if is_skipped("registers_and_spills_keep_their_limits", missing) {
        return;
    }
    let (target, ptxas) = (target.unwrap(), ptxas.unwrap());
    let (mut limits, mut faults, mut table) = (limits(LIMITS), Vec::new(), String::new());
    for (file, text) in sources() {
        for (kernel, used) in compiled(&target, COUNTED.0, &ptxas, file, &text) {
            let limit = limits.remove(&(file.into(), kernel.clone())).unwrap_or(DEFAULT);
            table += &format!("{file},{kernel},{},{}\n", used.registers, used.spill);
            if used.registers > limit.registers || used.spill > limit.spill {
                faults.push(format!(
                    "{file}.cu: {kernel}: {} registers and {} bytes spilled, limit {} and {}",
                    used.registers, used.spill, limit.registers, limit.spill
                ));
            }
        }
    }
    faults.extend(limits.keys().map(|(file, kernel)| format!("limits.csv: {file}.cu has no kernel {kernel}")));
    println!("{table}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_ptxas_says_is_read() {
    let log = "ptxas info    : 0 bytes gmem\n\
               ptxas info    : Compiling entry function 'dot' for 'sm_90'\n\
               ptxas info    : Function properties for dot\n\
               \x20   8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n\
               ptxas info    : Used 32 registers, used 1 barriers, 65 bytes smem\n\
               ptxas info    : Compiling entry function 'max_abs' for 'sm_90'\n\
               ptxas info    : Function properties for max_abs\n\
               \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
               ptxas info    : Used 18 registers\n";
    let expected =
        [("dot".into(), Limit { registers: 32, spill: 24 }), ("max_abs".into(), Limit { registers: 18, spill: 0 })];
    assert_eq!(usage(log), expected);
    let read = limits("# comment\nblas,dot,32,0 # why\n\n");
    assert_eq!(read[&("blas".into(), "dot".into())], Limit { registers: 32, spill: 0 });
}
