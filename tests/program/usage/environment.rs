//! Odd files, words that are not UTF-8 and damaged libraries: what surrounds a run, given to real processes.

use super::*;

#[test]
fn odd_files_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    };
    let huge = folder.path().join("huge.toml");
    std::fs::File::create(&huge).unwrap().set_len(100 << 20).unwrap();
    let deep = format!("[mesh]\nnodes = {}", "[".repeat(500_000));
    let tables = format!("[mesh]\nnodes = {}", "{a=".repeat(200_000));
    let mut cases = vec![
        (huge.to_str().unwrap().to_string(), "larger than 1 MiB"),
        (folder.path().to_str().unwrap().to_string(), "a folder, expected a regular file"),
        (write("deep.toml", deep.as_bytes()), "line 2: `nodes = [[["),
        (write("tables.toml", tables.as_bytes()), "line 2: `nodes = {a="),
        (write("latin.toml", b"[mesh]\n# na\xefve\n"), "line 2: byte 0xef is not UTF-8"),
        (write("\u{1b}[31m\n.toml", b"x"), "\\u{1b}[31m\\n.toml, line 1"),
        (write("zeros.toml", &[0; 4096]), "line 1"),
        ("-".into(), "--input: -: the standard input is not read; give the name of a file"),
        ("/dev/zero".into(), "/dev/zero: a device, expected a regular file"),
        ("/dev/stdin".into(), "/dev/stdin: a pipe, expected a regular file"),
        ("/proc/self/mem".into(), "/proc/self/mem"),
    ];
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    cases.push((pipe.to_str().unwrap().to_string(), "a pipe, expected a regular file"));
    for (path, part) in cases {
        let mut command = assert_cmd::Command::cargo_bin("minifenl").unwrap();
        // With something to write, stdin is a pipe.
        let output =
            command.args(["--input", &path]).write_stdin("[mesh]\nnodes = 4\n").timeout(PATIENCE).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{path}: {message}");
        check(&message, &[part], &path);
    }
    // A link to a deck is a deck.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(write("right.toml", b"[mesh]\nnodes = 4\n"), &link).unwrap();
    let (code, out, err) = run(&["--input", link.to_str().unwrap(), "--dump-deck"], &[]);
    assert!(code == 0 && out.contains("nodes = 4\n"), "{err}");
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf_8_name_their_flag() {
    use std::os::unix::ffi::OsStringExt;
    for (flag, words) in [
        ("--nodes", vec![b"--nodes".to_vec(), b"8\xff".to_vec()]),
        ("--map", vec![b"--map=none\xfe".to_vec()]),
        ("--completions", vec![b"--completions".to_vec(), b"fi\xffsh".to_vec()]),
        ("\u{fffd}", vec![b"\xff".to_vec()]),
    ] {
        let words = std::iter::once(b"minifenl".to_vec()).chain(words).map(OsString::from_vec).collect();
        let mut err = Vec::new();
        let error = program::parse_from::<Args>(words).unwrap_err();
        assert_eq!(program::usage(&error, &mut Vec::new(), &mut err), Exit::BadInput);
        check(&String::from_utf8(err).unwrap(), &[flag], &flag);
    }
}

/// A driver's library that is there but damaged is not called missing.
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[test]
fn a_damaged_driver_is_told_from_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    for content in [&b""[..], b"\x7fELF\x02\x01\x01", &[b'x'; 4096]] {
        for name in ["libcuda.so", "libcuda.so.1"] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let path = folder.path().to_str().unwrap();
        let environment = [("LD_LIBRARY_PATH", path)];
        let (code, out, message) = run(&["--device", "cuda", "--nodes", "4"], &environment);
        assert_eq!((code, out.as_str()), (2, ""), "{message}");
        check(&message, &["run.device (--device): cuda: the CUDA driver cannot be loaded: "], &content);
        let (code, _, note) = run(&["--nodes", "4"], &environment);
        assert!(code == 0 && note.starts_with("note: on the cpu: the CUDA driver cannot be loaded: "), "{note}");
        assert!(!note.contains("no CUDA driver") && note.lines().count() == 1, "{note}");
    }
    let (_, _, message) = run(&["--device", "cuda", "--nodes", "4"], &[("LD_LIBRARY_PATH", "")]);
    assert!(!message.contains("cannot be loaded: libcuda"), "{message}");
}

/// Used by nothing else: a path is a path.
#[test]
fn a_report_may_have_any_name() {
    assert_eq!(parsed(&["--report", "a\nb"]).unwrap().run.report.as_deref(), Some(Path::new("a\nb")));
}
