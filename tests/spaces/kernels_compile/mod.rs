//! Every kernel file compiles for every kind of GPU that we know, without a GPU; no kernel takes more registers or spills
//! more bytes than `kernels/limits.csv` allows it; scattered additions wait for no answer.
//!
//! Needs NVRTC on the library path, ptxas at `MINIFENL_PTXAS` and nvdisasm at `MINIFENL_NVDISASM`; `make test` fetches all
//! three. Without them the tests say so and pass, unless `MINIFENL_NEEDS_NVRTC` is set. What a compilation gave is kept until
//! its source, options or tools change (`kept`).

mod elements;
mod equations;
mod kept;

use elements::{SpecialisedKernel, element_kernels};
use kept::{Tool, kept};
use minifenl::kernel_files;
use minifenl::space::cuda::{Architecture, KernelFile};
use std::collections::{BTreeMap, HashSet};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A100, H200, B200.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];
/// The one whose registers are counted, and as NVRTC calls it when it is to give PTX.
const COUNTED: (&str, &str) = ("sm_90", "compute_90");
const LIMITS: &str = include_str!("../../../kernels/limits.csv");
/// Architecture, multiprocessors, KiB of shared memory of a block: A100, H200, B200, L40.
const GPUS: [(&str, usize, usize); 4] =
    [("sm_80", 108, 163), ("sm_90", 132, 227), ("sm_100", 148, 227), ("sm_89", 142, 99)];
/// Of the kernels of finite elements on an H200: the name, registers, bytes spilled, bytes of shared memory, static and dynamic.
const ELEMENTS: &str = include_str!("../../../kernels/limits-contraction.csv");
/// By how many registers another compiler may differ.
const NEAR: u32 = 8;
/// For a kernel without a line in the table: the most registers that a thread can have, no spills.
const DEFAULT: Limit = Limit { registers: 255, spill: 0, shared: u32::MAX };

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    registers: u32,
    spill: u32,
    /// Static.
    shared: u32,
}

/// One line per kernel, `file,kernel,registers,spill bytes`; what follows a `#` is a comment.
fn limits(text: &str) -> BTreeMap<(String, String), Limit> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty());
    lines
        .map(|line| match line.split(',').map(str::trim).collect::<Vec<_>>()[..] {
            [file, kernel, registers, spill] => {
                let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("limits.csv: {line}"));
                ((file.into(), kernel.into()), Limit { registers: number(registers), spill: number(spill), ..DEFAULT })
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
            found.push((rest.split('\'').next().unwrap_or("").into(), Limit { registers: 0, spill: 0, shared: 0 }));
        } else if let Some((_, usage)) = found.last_mut() {
            usage.registers = usage.registers.max(number_before(" registers").unwrap_or(0));
            let spill = number_before(" bytes spill stores").max(number_before(" bytes spill loads"));
            usage.spill = usage.spill.max(spill.unwrap_or(0));
            usage.shared = usage.shared.max(number_before(" bytes smem").unwrap_or(0));
        }
    }
    found
}

/// Whether a tool is missing that the test cannot do without.
fn is_skipped(test: &str, missing: Option<String>) -> bool {
    let Some(why) = missing else { return false };
    support::skip(test, &why, "MINIFENL_NEEDS_NVRTC");
    true
}

#[test]
fn every_file_compiles_for_every_architecture() {
    let missing = Architecture::new(COUNTED.0).err().map(|error| error.to_string());
    if is_skipped("every_file_compiles_for_every_architecture", missing) {
        return;
    }
    let faults: Vec<String> = std::thread::scope(|scope| {
        let jobs = ARCHITECTURES.map(|architecture| {
            scope.spawn(move || {
                let target = Architecture::new(architecture).unwrap();
                let compiled = |file: &KernelFile| {
                    let text = file.source("");
                    let compile = || target.compile(file.name(), &text).map(|_| String::new());
                    kept("compiles", &target, "", &text, || compile().map_err(|error| error.to_string()))
                };
                kernel_files().into_iter().filter_map(|file| compiled(file).err()).collect::<Vec<_>>()
            })
        });
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns what ptxas reports of a file's kernels; `target` gives PTX.
fn compiled(target: &Architecture, architecture: &str, ptxas: &Tool, file: &str, text: &str) -> Vec<(String, Limit)> {
    let assemble = || {
        let folder = tempfile::tempdir().unwrap();
        let ptx = folder.path().join("kernels.ptx");
        let image = target.compile(file, text).map_err(|error| error.to_string())?;
        std::fs::write(&ptx, image.strip_suffix(b"\0").unwrap_or(&image)).unwrap();
        let mut command = Command::new(&ptxas.path);
        command.args(["-v", "-arch", architecture]).arg(&ptx).arg("-o").arg(ptx.with_extension("cubin"));
        let output = command.output().map_err(|error| format!("{:?}: {error}", ptxas.path))?;
        let log = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(log.into_owned()) } else { Err(format!("{file}.cu: {log}")) }
    };
    let check = format!("ptxas -v -arch {architecture}");
    usage(&kept(&check, target, &ptxas.version, text, assemble).unwrap_or_else(|error| panic!("{error}")))
}

/// What each GPU compiles for finite elements; of the one with the least shared memory what no other does.
fn element_jobs() -> Vec<(&'static str, SpecialisedKernel)> {
    let mut texts = HashSet::new();
    let of = |(architecture, multiprocessors, kib)| {
        let mut kernels = element_kernels(multiprocessors, kib << 10);
        kernels.retain(|kernel| texts.insert(kernel.text.clone()) || architecture != "sm_89");
        kernels.into_iter().map(move |kernel| (architecture, kernel))
    };
    GPUS.into_iter().flat_map(of).collect()
}

/// The contractions of finite elements, compiled for their sizes: none spills, on any kind of GPU, and on an H200 they take
/// what `kernels/limits-contraction.csv` says, which the test writes where `MINIFENL_WRITE_LIMITS` is set.
#[test]
fn contractions_of_elements_do_not_spill() {
    let ptxas = Tool::named_by("MINIFENL_PTXAS");
    let missing = Architecture::new(COUNTED.0).err().map(|error| error.to_string());
    let missing = missing.or(ptxas.as_ref().err().cloned());
    if is_skipped("contractions_of_elements_do_not_spill", missing) {
        return;
    }
    let ptxas = ptxas.unwrap_or_else(|why| panic!("{why}"));
    let (jobs, next, begin) = (element_jobs(), AtomicUsize::new(0), std::time::Instant::now());
    let work = || {
        let targets = GPUS.map(|(name, ..)| (name, Architecture::new(&name.replace("sm", "compute")).unwrap()));
        let mut found = Vec::new();
        while let Some((architecture, kernel)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (_, target) = targets.iter().find(|(name, _)| name == architecture).unwrap();
            for (_, used) in compiled(target, architecture, &ptxas, &kernel.name, &kernel.text) {
                found.push((*architecture, kernel, used));
            }
        }
        found
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(&str, &SpecialisedKernel, Limit)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    println!("{} kernels of finite elements in {:.0} s", found.len(), begin.elapsed().as_secs_f64());
    let spilled = found.iter().filter(|(_, _, used)| used.spill > 0);
    let mut faults: Vec<String> = spilled
        .map(|(architecture, kernel, used)| format!("{} on {architecture}: {} bytes spilled", kernel.name, used.spill))
        .collect();
    found.retain(|(architecture, ..)| *architecture == COUNTED.0);
    found.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let lines = found.iter().map(|(_, kernel, used)| {
        format!("{},{},{},{},{}\n", kernel.name, used.registers, used.spill, used.shared, kernel.shared)
    });
    let (comments, rows): (Vec<&str>, Vec<&str>) = ELEMENTS.lines().partition(|line| line.starts_with('#'));
    if std::env::var_os("MINIFENL_WRITE_LIMITS").is_some() {
        let text = comments.iter().map(|line| format!("{line}\n")).chain(lines).collect::<String>();
        std::fs::write("kernels/limits-contraction.csv", text).unwrap();
    } else {
        faults.extend(differences(&rows, &lines.collect::<Vec<_>>()));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a table of kernels differs from what was found by more than a few registers.
fn differences(recorded: &[&str], found: &[String]) -> Vec<String> {
    let row = |line: &str| -> (String, Vec<u32>) {
        let (name, numbers) = line.trim().split_once(',').unwrap_or((line, ""));
        (name.into(), numbers.split(',').filter_map(|number| number.parse().ok()).collect())
    };
    let mut recorded: BTreeMap<_, _> = recorded.iter().map(|line| row(line)).collect();
    let mut faults: Vec<String> = Vec::new();
    for (name, used) in found.iter().map(|line| row(line)) {
        let known = recorded.remove(&name).unwrap_or_default();
        let is_same = known.len() == used.len() && known[0].abs_diff(used[0]) <= NEAR && known[1..] == used[1..];
        if !is_same {
            faults.push(format!("limits-contraction.csv: {name}: {known:?}, found {used:?}"));
        }
    }
    faults.extend(recorded.keys().map(|name| format!("limits-contraction.csv: no kernel {name}")));
    if !faults.is_empty() {
        faults.push("MINIFENL_WRITE_LIMITS=1 writes the table again".into());
    }
    faults
}

#[test]
fn registers_and_spills_keep_their_limits() {
    let target = Architecture::new(COUNTED.1);
    let ptxas = Tool::named_by("MINIFENL_PTXAS");
    let missing = target.as_ref().err().map(ToString::to_string).or(ptxas.as_ref().err().cloned());
    if is_skipped("registers_and_spills_keep_their_limits", missing) {
        return;
    }
    let (target, ptxas) = (target.unwrap(), ptxas.unwrap_or_else(|why| panic!("{why}")));
    let (mut limits, mut faults, mut table) = (limits(LIMITS), Vec::new(), String::new());
    for (file, text) in kernel_files().into_iter().map(|file| (file.name(), file.source(""))) {
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

/// Kernels, by file, that add in no fixed order to what others add to as well.
const ADDING: [(&str, &[&str]); 3] = [
    ("fill", &["scatter_u8", "scatter_u16", "scatter_u32"]),
    ("heat", &["scatter_heat"]),
    ("contraction_team", &["segments_atomic_f32", "segments_atomic_f64"]),
];

/// Of each kernel that nvdisasm shows: floating-point additions in memory that return nothing, and atomics that return
/// what was there (compare-and-swap loops too).
fn atomics(code: &str) -> BTreeMap<&str, [usize; 2]> {
    let (mut found, mut kernel) = (BTreeMap::new(), "");
    for line in code.lines() {
        if let Some(label) = line.strip_prefix(".text.") {
            kernel = label.trim_end_matches(':');
        }
        let counts = found.entry(kernel).or_insert([0; 2]);
        for word in line.split_whitespace() {
            counts[0] += usize::from(word.starts_with("RED") && word.contains(".ADD.F"));
            counts[1] += usize::from(word.starts_with("ATOM.") || word.starts_with("ATOMG."));
        }
    }
    found
}

/// Reads lines of a kernel's name and the two numbers of [`atomics`].
fn counts(lines: &str) -> BTreeMap<&str, [usize; 2]> {
    let words = lines.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.map(|words| (words[0], [1, 2].map(|i| words[i].parse().unwrap()))).collect()
}

/// In machine code they are reductions (RED): the thread goes on, and the second-level cache adds.
#[test]
fn scattered_additions_return_nothing() {
    let nvdisasm = Tool::named_by("MINIFENL_NVDISASM");
    let missing = Architecture::new(COUNTED.0).err().map(|error| error.to_string());
    let missing = missing.or(nvdisasm.as_ref().err().cloned());
    if is_skipped("scattered_additions_return_nothing", missing) {
        return;
    }
    let (nvdisasm, folder) = (nvdisasm.unwrap_or_else(|why| panic!("{why}")), tempfile::tempdir().unwrap());
    for architecture in ARCHITECTURES {
        let target = Architecture::new(architecture).unwrap();
        for (file, kernels) in ADDING {
            let text = kernel_files().into_iter().find(|known| known.name() == file).unwrap().source("");
            let disassemble = || {
                let image = folder.path().join(format!("{file}-{architecture}.cubin"));
                std::fs::write(&image, target.compile(file, &text).map_err(|error| error.to_string())?).unwrap();
                let output = Command::new(&nvdisasm.path).arg("-c").arg(&image).output().unwrap();
                let code = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
                let lines = atomics(&code).into_iter().map(|(kernel, [red, atom])| format!("{kernel} {red} {atom}\n"));
                Ok(lines.collect())
            };
            let lines = kept("nvdisasm", &target, &nvdisasm.version, &text, disassemble).unwrap();
            let found = counts(&lines);
            for kernel in kernels {
                let Some(&[additions, returning]) = found.get(kernel) else { panic!("no {kernel} in {file}.cu") };
                println!("{file},{kernel},{architecture}: {additions} RED, {returning} ATOM");
                assert!(
                    additions > 0 && returning == 0,
                    "{kernel} on {architecture}: {additions} RED, {returning} ATOM"
                );
            }
        }
    }
}

#[test]
fn what_nvdisasm_shows_is_read() {
    let code = ".text.first:\n  /*0010*/  @!P0 REDG.E.ADD.F64.RN.STRONG.GPU desc[UR4][R2.64], R4 ;\n\
                \x20 /*0020*/  ATOMS.ADD R0, [R1], R2 ;\n.L_x_1:\n  /*0030*/  RED.E.MAX.STRONG.GPU [R2.64], R4 ;\n\
                .text.second:\n  /*0010*/  ATOMG.E.CAS.64.STRONG.GPU PT, R2, [R4], R6 ;\n";
    let found = atomics(code);
    assert_eq!((found["first"], found["second"]), ([1, 0], [0, 1]));
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
    let expected = [
        ("dot".into(), Limit { registers: 32, spill: 24, shared: 65 }),
        ("max_abs".into(), Limit { registers: 18, spill: 0, shared: 0 }),
    ];
    assert_eq!(usage(log), expected);
    let read = limits("# comment\nblas,dot,32,0 # why\n\n");
    assert_eq!(read[&("blas".into(), "dot".into())], Limit { registers: 32, spill: 0, ..DEFAULT });
    let found = ["a,40,0,64,128\n", "b,40,0,0,0\n", "c,1,0,0,0\n"].map(String::from);
    let faults = differences(&["a,33,0,64,128", "b,31,0,0,0", "d,1,0,0,0"], &found);
    assert_eq!(faults.len(), 4, "{faults:?}");
}
