//! Outcomes of compilations, kept between runs under cargo's target folder.
//!
//! A file is named by the hash of everything that the outcome depends on: the check, the source text, the architecture, the
//! options (the text of `compile.rs`, which holds them) and the versions of the tools. It holds the hash of that key and of the
//! outcome before the outcome itself, so that a damaged file is noticed, computed again and replaced. Failures are not kept.

use minifenl::space::cuda::Architecture;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use xxhash_rust::xxh3::xxh3_128;

/// Where NVRTC's options stand.
const OPTIONS: &str = include_str!("../../../src/space/cuda/compile.rs");

/// A program of the CUDA toolkit, with its version.
pub struct Tool {
    pub path: OsString,
    pub version: String,
}

impl Tool {
    /// Returns the tool that an environment variable names.
    pub fn named_by(variable: &str) -> Result<Self, String> {
        let path = env::var_os(variable).ok_or(format!("{variable} names no tool (`make test` sets it)"))?;
        let output = Command::new(&path).arg("--version").output().map_err(|error| format!("{path:?}: {error}"))?;
        Ok(Tool { path, version: String::from_utf8_lossy(&output.stdout).into_owned() })
    }
}

/// Returns the outcome of `check` for a source text, kept or computed. `tool` is the version of the program that `compute`
/// runs after NVRTC, if any.
pub fn kept(
    check: &str,
    target: &Architecture,
    tool: &str,
    source: &str,
    compute: impl FnOnce() -> Result<String, String>,
) -> Result<String, String> {
    let key = format!("{check}\n{target:?}\n{tool}\n{OPTIONS}\n{source}");
    // A machine that only runs the tests has no target folder.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !folder.is_dir() {
        return compute();
    }
    in_folder(&folder.join("kernels"), &key, compute)
}

fn in_folder(folder: &Path, key: &str, compute: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    let path = file(folder, key);
    let read = fs::read_to_string(&path).unwrap_or_default();
    if let Some((first, outcome)) = read.split_once('\n')
        && first == header(key, outcome)
    {
        return Ok(outcome.into());
    }
    let outcome = compute()?;
    // Written elsewhere and renamed: other processes see whole files. What cannot be kept is computed again.
    let _ = fs::create_dir_all(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|file| fs::write(file.path(), format!("{}\n{outcome}", header(key, &outcome))).map(|()| file))
        .and_then(|file| file.persist(&path).map_err(|error| error.error));
    Ok(outcome)
}

fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{:032x}", xxh3_128(key.as_bytes())))
}

fn header(key: &str, outcome: &str) -> String {
    format!("{:032x} {:032x}", xxh3_128(key.as_bytes()), xxh3_128(outcome.as_bytes()))
}

#[test]
fn an_outcome_is_computed_once_and_again_after_damage_or_change() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("kernels");
    let get = |key: &str, new: &str| in_folder(&folder, key, || Ok(new.into())).unwrap();
    assert_eq!([get("key", "a\nb"), get("key", "other")], ["a\nb"; 2]);
    assert_eq!([get("changed", "c"), get("key", "other")], ["c", "a\nb"]);
    let whole = fs::read_to_string(file(&folder, "key")).unwrap();
    for damaged in [&whole[1..], &whole[..whole.len() - 1], "", &format!("{whole}x")] {
        fs::write(file(&folder, "key"), damaged).unwrap();
        assert_eq!([get("key", "again"), get("key", "other")], ["again"; 2]);
    }
    assert_eq!(in_folder(&folder, "fails", || Err("why".into())), Err("why".into()));
    assert_eq!(get("fails", "now"), "now");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
}
