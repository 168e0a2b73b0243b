//! Files as writers leave them: whole, with their mode, behind their links, without temporary files.

use super::temporary::{limit_in, new_file};
use super::*;
use std::time::{Duration, SystemTime};

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_and_an_old_file_are_written_and_nothing_else_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    let file = OutputFile::create(&path).unwrap();
    assert_eq!(names(dir.path()), [""; 0]);
    file.write(b"first").unwrap();
    assert_eq!(text(&path), "first");
    file.write_or_copy(b"second").unwrap();
    write(&path, b"third and longer").unwrap();
    assert_eq!((text(&path).as_str(), names(dir.path())), ("third and longer", vec!["a.csv".to_string()]));
    // A name as long as a file system allows, and one that is not UTF-8.
    write(&dir.path().join("n".repeat(255)), b"long").unwrap();
    #[cfg(unix)]
    write(&dir.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff.csv")), b"odd")
        .unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2 + usize::from(cfg!(unix)));
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_a_new_one_has_the_usual() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let [path, usual] = ["r.json", "usual"].map(|name| dir.path().join(name));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    fs::write(&usual, "").unwrap();
    write(&path, b"0").unwrap();
    assert_eq!(mode(&path), mode(&usual));
    for kept in [0o600, 0o640, 0o664, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
        write(&path, b"1").unwrap();
        assert_eq!(mode(&path), kept, "{kept:o}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_its_target_is_written() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("far")).unwrap();
    let [link, second, target] = ["r.json", "second", "far/target"].map(|name| dir.path().join(name));
    // Two links, both relative to their own folders; the file is not there yet.
    symlink("second", &link).unwrap();
    symlink("far/target", &second).unwrap();
    for content in ["new", "newer"] {
        OutputFile::create(&link).unwrap().write(content.as_bytes()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((text(&target).as_str(), names(&dir.path().join("far"))), (content, vec!["target".to_string()]));
    }
    let round = dir.path().join("round");
    symlink("round", &round).unwrap();
    let error = write(&round, b"").unwrap_err().to_string();
    assert!(error.ends_with("round: too many symbolic links"), "{error}");
}

#[test]
fn what_cannot_be_a_file_is_refused_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "kept").unwrap();
    let slash = dir.path().join("new/");
    for (path, reason) in [
        (dir.path(), "not a regular file"),
        (&dir.path().join("none/x"), "No such file"),
        (&file.join("x"), "Not a directory"),
        (Path::new(""), "not the name of a file"),
        (Path::new("/"), "not the name of a file"),
        (Path::new("/dev/null"), "not a regular file"),
        (&slash, "not the name of a file"),
    ] {
        for error in [OutputFile::create(path).unwrap_err(), write(path, b"x").unwrap_err()] {
            let error = error.to_string();
            assert!(error.starts_with(&format!("{}: ", path.display())) && error.contains(reason), "{error}");
        }
    }
    let mut readonly = fs::metadata(&file).unwrap().permissions();
    readonly.set_readonly(true);
    fs::set_permissions(&file, readonly).unwrap();
    assert!(OutputFile::create(&file).unwrap_err().to_string().contains("read-only"));
    assert!(write(&file, b"lost").unwrap_err().to_string().contains("read-only"));
    assert_eq!((text(&file).as_str(), names(dir.path())), ("kept", vec!["file".to_string()]));
}

#[test]
fn a_failure_leaves_the_old_file_and_no_temporary_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let file = OutputFile::create(&path).unwrap();
    // A folder has taken the place meanwhile; the copy has the content.
    fs::create_dir(&path).unwrap();
    let lost = file.write_or_copy(b"precious").unwrap_err();
    let copy = lost.copy.clone().unwrap();
    assert_eq!((text(&copy).as_str(), names(dir.path())), ("precious", vec!["x".to_string()]));
    let said = lost.to_string();
    assert!(said.contains("x: not a regular file; a copy is in ") && said.contains(copy.to_str().unwrap()), "{said}");
    assert!(said.lines().count() == 1 && said.contains(" on "), "{said}");
    fs::remove_file(copy).unwrap();
    // The rename itself fails: the temporary file is removed.
    let replaced = fs::metadata(&path).ok();
    let mut temporary = Temporary::create(&path, replaced.as_ref().filter(|found| found.is_file())).unwrap();
    temporary.write_and_flush(b"new").unwrap();
    assert!(temporary.rename(&path).is_err());
    assert_eq!(names(dir.path()), ["x"]);
}

#[test]
fn stale_temporary_files_do_not_block_and_old_ones_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let old = SystemTime::now() - Duration::from_secs(7200);
    let make = |name: &str, time: SystemTime| {
        let file = new_file(&dir.path().join(name), false).unwrap();
        file.set_modified(time).unwrap();
        file
    };
    // As versions before named them, with the number of this process; as this version does; of another file; of a person.
    let before = format!(".r.json.{}.tmp", std::process::id());
    make(&before, SystemTime::now());
    make(".r.json.12-0-5f.tmp", old);
    make(".other.json.12-0-5f.tmp", old);
    make(".r.json.mine.tmp", old);
    // A writer that is slow holds the lock.
    let slow = make(".r.json.13-0-60.tmp", old);
    slow.try_lock().unwrap();
    write(&path, b"{}").unwrap();
    let left = [".other.json.12-0-5f.tmp", ".r.json.13-0-60.tmp", &before, ".r.json.mine.tmp", "r.json"];
    let mut left: Vec<&str> = left.to_vec();
    left.sort_unstable();
    assert_eq!((names(dir.path()), text(&path)), (left.iter().map(|name| name.to_string()).collect(), "{}".into()));
    drop(slow);
    write(&path, b"{}").unwrap();
    assert!(!names(dir.path()).contains(&".r.json.13-0-60.tmp".to_string()));
}

#[test]
fn names_of_temporary_files_differ_in_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let both = [Temporary::create(&path, None).unwrap(), Temporary::create(&path, None).unwrap()];
    assert_eq!(names(dir.path()).len(), 2);
    drop(both);
    assert_eq!(names(dir.path()).len(), 0);
}

#[test]
fn the_limit_of_a_file_is_read() {
    let limits =
        |soft: &str| format!("Max cpu time  5  unlimited  seconds\nMax file size             {soft}  9  bytes\n");
    assert_eq!(limit_in(&limits("4096")), Some(4096));
    assert_eq!(limit_in(&limits("unlimited")), None);
    assert_eq!(limit_in("Max cpu time  5  6  seconds\n"), None);
}
