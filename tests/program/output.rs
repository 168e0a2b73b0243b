//! Output files and streams that fail: full disks, limits, kills, closed pipes. Nothing old is lost, and what was computed is
//! printed or copied.

#![cfg(unix)]

use minifenl::files;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::json;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_minifenl");
/// A job that takes no time, without `--report`.
const JOB: &str = "--nodes 9 --device cpu --threads 1";

/// Runs a shell command in which `$M` is the program.
fn sh(command: &str) -> (i32, String, String) {
    parts(Command::new("sh").args(["-c", command]).env("M", program()).output().unwrap())
}

/// In a folder made by `make dist`, the program is named at run time.
fn program() -> String {
    std::env::var("CARGO_BIN_EXE_minifenl").unwrap_or(PROGRAM.into())
}

fn parts(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_report_above_the_limit_of_a_file_is_printed_and_the_old_one_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    fs::write(&path, "old").unwrap();
    let report = path.display();
    let (code, out, err) = sh(&format!("ulimit -f 1; $M {JOB} --report {report}"));
    // The limit holds for the copy, too, so the report itself is on stderr.
    assert_eq!((code, err.lines().count()), (1, 2), "{err}");
    assert!(out.lines().last().unwrap().starts_with("PASS: "), "{out}");
    let (message, copy) = err.split_once('\n').unwrap();
    assert!(
        message.starts_with(&format!("error: run.report (--report): {report}: ")) && message.contains("(ulimit -f)"),
        "{err}"
    );
    assert!(message.contains("; no copy could be written to "), "{err}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(copy).unwrap()["verified"], true);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(dir.path())), ("old", vec!["r.json".to_string()]));
}

/// The mesh is written after the work: its failure is named beside that of the report, and is no bad input.
#[test]
fn a_file_for_vtk_above_the_limit_of_a_file_is_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let [vtk, report] = ["x.vtu", "r.json"].map(|name| dir.path().join(name).display().to_string());
    for (flags, lines) in [(String::new(), 1), (format!("--report {report}"), 3)] {
        let (code, out, err) = sh(&format!("ulimit -f 1; $M {JOB} --vtk {vtk} {flags}"));
        assert_eq!((code, err.lines().count()), (1, lines), "{err}");
        assert!(out.lines().last().unwrap().starts_with("PASS: "), "{out}");
        assert!(err.starts_with(&format!("error: run.vtk (--vtk): {vtk}: ")) && err.contains("(ulimit -f)"), "{err}");
        assert_eq!(err.contains(&format!("\nerror: run.report (--report): {report}: ")), lines > 1, "{err}");
    }
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn no_file_of_a_run_is_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let deck = "[mesh]\nnodes = 9\n";
    for name in ["d.vtu", "d.csv"] {
        fs::write(dir.path().join(name), deck).unwrap();
    }
    std::os::unix::fs::symlink("late.vtu", dir.path().join("link")).unwrap();
    fs::hard_link(dir.path().join("d.csv"), dir.path().join("hard")).unwrap();
    for (flags, said) in [
        ("--report a.vtu --vtk a.vtu", "run.vtk (--vtk): its file a.vtu: this is run.report (--report)"),
        ("--report a --append ./a", "run.append (--append): this is run.report (--report)"),
        ("--report link --vtk late.vtu", "run.vtk (--vtk): its file late.vtu: this is run.report (--report)"),
        ("--input d.vtu --vtk ./d.vtu", "run.vtk (--vtk): its file d.vtu: this is the input deck"),
        ("--input d.csv --append hard", "run.append (--append): this is the input deck"),
        ("--input d.csv --report d.csv --dry-run", "run.report (--report): this is the input deck"),
    ] {
        let (code, out, err) =
            sh(&format!("cd {} && $M {JOB} {flags}", dir.path().display()).replace("--nodes 9 ", ""));
        assert_eq!((code, out.as_str(), err), (2, "", format!("error: {said}; give another file\n")), "{flags}");
    }
    assert_eq!(names(dir.path()), ["d.csv", "d.vtu", "hard", "link"]);
    assert_eq!(fs::read_to_string(dir.path().join("d.vtu")).unwrap(), deck);
    // The standard output is no file.
    let (code, ..) = sh(&format!("cd {} && $M {JOB} --report - --vtk ./-.vtu", dir.path().display()));
    assert_eq!(code, 0);
}

#[test]
fn a_report_on_a_full_disk_is_copied_and_the_old_one_kept() {
    let dir = tempfile::tempdir().unwrap();
    let [disk, temporary] = ["disk", "temporary"].map(|name| dir.path().join(name));
    fs::create_dir(&disk).unwrap();
    fs::create_dir(&temporary).unwrap();
    let (disk, spare) = (disk.display(), temporary.display());
    // Two pages: one for the old report; the new one has 4 KiB and more.
    let mount = format!("mount -t tmpfs -o size=8k none {disk}");
    let is_mounted = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).output();
    if !is_mounted.is_ok_and(|output| output.status.success()) {
        return support::skip("a_report_on_a_full_disk", "no right to mount a small disk", "MINIFENL_NEEDS_MOUNT");
    }
    let command = format!(
        "{mount} && echo old > {disk}/r.json && TMPDIR={spare} $M {JOB} --report {disk}/r.json; code=$?; \
         cat {disk}/r.json; ls -A {disk}; exit $code"
    );
    let mut command_line = Command::new("unshare");
    let (code, out, err) =
        parts(command_line.args(["-rm", "sh", "-c", &command]).env("M", program()).output().unwrap());
    assert_eq!((code, err.lines().count()), (1, 1), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    let [.., verdict, old, files] = lines[..] else { panic!("{out}") };
    assert!(verdict.starts_with("PASS: ") && (old, files) == ("old", "r.json"), "{out}");
    let copies = names(&temporary);
    assert_eq!(copies.len(), 1);
    let copy = temporary.join(&copies[0]);
    let said = format!(
        "error: run.report (--report): {disk}/r.json: No space left on device (os error 28); a copy is in {}",
        copy.display()
    );
    assert!(err.starts_with(&said), "{err}");
    assert_eq!(json(&copy)["verified"], true);
}

#[test]
fn a_report_keeps_mode_and_link_and_no_stale_file_blocks_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let [real, link] = ["real.json", "r.json"].map(|name| dir.path().join(name));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real.json", &link).unwrap();
    // `exec` keeps the number of the process, which a stale file of a container has had before.
    let (code, _, err) = sh(&format!(
        "touch {0}/.r.json.$$.tmp {0}/.real.json.$$.tmp; exec $M {JOB} --report {0}/r.json",
        dir.path().display()
    ));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(json(&link)["verified"], true);
}

#[test]
fn a_full_or_closed_output_has_a_code_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    for command in ["--help", "--version", "--completions bash", "--dump-deck", JOB] {
        let (code, out, err) = sh(&format!("$M {command} > /dev/full"));
        let said = "error: the output cannot be written: No space left on device (os error 28)\n";
        assert_eq!((code, out.as_str(), err.as_str()), (1, "", said), "{command}");
        // `>&-` closes it; the reader of a pipe ends first.
        for closed in [">&-", "| true", "| head -1"] {
            let (_, out, err) = sh(&format!("{{ $M {command}; echo $? >&2; }} {closed}"));
            assert!(out.lines().count() <= 1, "{command} {closed}: {out}");
            assert_eq!(err, "0\n", "{command} {closed}");
        }
    }
    // Without a table on paper there is still the report.
    let (code, _, _) = sh(&format!("$M {JOB} --report {} > /dev/full", path.display()));
    assert_eq!((code, json(&path)["verified"].as_bool()), (1, Some(true)));
    // Nobody hears a message, but the code says it.
    assert_eq!(sh("$M --nodez 2> /dev/full").0, 2);
    assert_eq!(sh(&format!("ulimit -f 1; $M {JOB} --report {} 2> /dev/full", path.display())).0, 1);
}

/// What would be lost, or lie in a file that replaces the open one, is refused before the work.
#[test]
fn a_report_needs_an_output_that_keeps_it() {
    let closed = "the standard output is closed, or /dev/null for reading and writing; give a file name";
    let (_, _, err) = sh(&format!("{{ $M {JOB} --quiet --report -; echo $? >&2; }} >&-"));
    assert_eq!(err, format!("error: run.report (--report): -: {closed}\n2\n"));
    let (code, _, err) = sh(&format!("$M {JOB} --quiet --report - > /dev/null"));
    assert!(code == 0 && err.starts_with("PASS: ") && err.lines().count() == 1, "{err}");
    let (_, out, err) = sh(&format!("{{ $M {JOB} --report /dev/stdout; echo $? >&2; }} | cat"));
    let said = "error: run.report (--report): /dev/stdout: not a regular file; give - for the standard output\n2\n";
    assert_eq!((out.as_str(), err.as_str()), ("", said));
    let (_, out, err) = sh(&format!("{{ $M {JOB} --append /dev/stdout; echo $? >&2; }} | cat"));
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("", "error: run.append (--append): /dev/stdout: not a regular file\n2\n")
    );
}

/// A pipe that nobody reads any more, from the first byte on.
#[test]
fn a_job_whose_reader_is_gone_ends_with_its_verdict() {
    let mut job = Command::new(program());
    let mut child = job.args(JOB.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(parts(child.wait_with_output().unwrap()), (0, String::new(), String::new()));
}

/// Writes until it is killed.
fn write_forever(path: &Path, contents: &[Vec<u8>; 2]) {
    loop {
        contents.iter().for_each(|content| files::write(path, content).unwrap());
    }
}

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    const NAME: &str = "output::a_kill_leaves_the_old_file_or_the_new_one";
    const KILLS: usize = 60;
    let contents = [vec![b'a'; 1 << 20], vec![b'b'; 3 << 19]];
    // This executable is its own victim.
    if let Some(path) = std::env::var_os("MINIFENL_TEST_WRITES") {
        write_forever(Path::new(&path), &contents);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.csv");
    let (mut random, mut inside) = (support::Random::new(11), 0);
    fs::write(&path, &contents[1]).unwrap();
    for kill in 0..KILLS {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.args(["--exact", NAME]).env("MINIFENL_TEST_WRITES", &path).stdout(Stdio::null());
        let before = fs::metadata(&path).unwrap();
        let mut child = writer.spawn().unwrap();
        // From the first file that it has written, or begun to write, on.
        let is_new = || fs::metadata(&path).unwrap().modified().unwrap() != before.modified().unwrap();
        while !is_new() && names(dir.path()).len() == 1 {
            assert!(child.try_wait().unwrap().is_none(), "kill {kill}: the writer ended by itself");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(random.below(8000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = fs::read(&path).unwrap();
        assert!(contents.contains(&found), "kill {kill}: {} bytes, starting with {:?}", found.len(), found.first());
        for name in names(dir.path()).iter().filter(|name| *name != "table.csv") {
            assert!(name.starts_with(".table.csv.") && name.ends_with(".tmp"), "{name}");
            fs::remove_file(dir.path().join(name)).unwrap();
            inside += 1;
        }
    }
    println!("{KILLS} kills, {inside} of them while the file was written");
    assert!(inside > 0);
}

/// `script` runs the program on a terminal of its own.
#[test]
fn a_terminal_has_lines_that_fit_and_a_dumb_one_no_escapes() {
    let on_terminal = |term: &str, columns: usize| {
        let command = format!("stty rows 24 cols {columns} 2>/dev/null; {} {JOB}", program());
        Command::new("script").args(["-qec", &command, "/dev/null"]).env("TERM", term).stdin(Stdio::null()).output()
    };
    let Ok(output) = on_terminal("xterm", 12) else {
        return support::skip("a_terminal_has_lines_that_fit", "no script (util-linux)", "MINIFENL_NEEDS_SCRIPT");
    };
    let (code, out, _) = parts(output);
    assert_eq!(code, 0, "{out}");
    // Every text between two rewrites, but for kept lines.
    let steps: Vec<&str> = out.split("\r\x1b[K").skip(1).filter(|step| !step.contains('\n')).collect();
    assert!(steps.len() > 2 && steps.iter().all(|step| step.len() < 12), "{steps:?}");
    let (code, out, _) = parts(on_terminal("dumb", 80).unwrap());
    assert!(code == 0 && !out.contains('\x1b') && out.contains("PASS: "), "{out}");
}

#[test]
fn peak_memory_is_per_node() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let (code, out, _) = sh(&format!("$M --nodes 5x7x11 --device cpu --threads 1 --report {}", path.display()));
    let report = json(&path);
    let number = |key: &str| report[key].as_f64().unwrap();
    assert_eq!((code, number("nodes"), number("elements")), (0, 385.0, 240.0));
    // The last bit of a number may change when it is read.
    assert!((number("peak_bytes_per_node") * 385.0 / number("peak_bytes") - 1.0).abs() < 1e-14);
    let said =
        format!("peak memory {:.1} MiB, {:.0} B/node", number("peak_bytes") / 1048576.0, number("peak_bytes") / 385.0);
    assert!(out.contains(&said), "{out}");
}

/// Only `files` writes what a user names: no other source of the library and the programs names what could.
#[test]
fn every_file_is_written_by_one_function() {
    const WRITERS: [&str; 7] = [
        "fs::write(",
        "File::create(",
        "create_new(",
        "fs::rename(",
        "fs::copy(",
        ".create(true)",
        "sprs::io::write_matrix_market(",
    ];
    fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.to_str().unwrap().to_string();
            let is_test = name.contains("tests") || name.ends_with("/testing.rs");
            if path.is_dir() && !is_test {
                walk(&path, found);
            } else if name.ends_with(".rs") && !is_test && !name.contains("src/files/") {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join("src").exists() {
        return support::skip("every_file_is_written_by_one_function", "no sources", "MINIFENL_NEEDS_SOURCES");
    }
    let mut sources = Vec::new();
    ["src", "apps"].map(|folder| root.join(folder)).iter().for_each(|folder| walk(folder, &mut sources));
    assert!(sources.len() > 150);
    for (name, text) in sources {
        // Tests at the end of a file may.
        let end = ["#[test]", "mod tests {"].iter().filter_map(|start| text.find(start)).min().unwrap_or(text.len());
        let code = text[..end].replace("OutputFile::", "");
        for word in WRITERS.iter().filter(|&&word| code.contains(word)) {
            // No output of a job: the lock of a folder, compiled kernels, and the log of faults on purpose.
            let is_known = [
                ("contractions/src/lock.rs", ".create(true)"),
                ("src/space/cuda/cache.rs", "fs::write("),
                ("src/space/cuda/cache.rs", "fs::rename("),
                ("src/faults.rs", ".create(true)"),
            ]
            .iter()
            .any(|(file, known)| name.ends_with(file) && word == known);
            assert!(is_known, "{name} has `{word}`: use minifenl::files");
        }
    }
}
