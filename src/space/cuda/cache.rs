//! Cache of compiled kernels on disk (`MINIFENL_CACHE`, `XDG_CACHE_HOME` or `~/.cache`).
//!
//! A file holds a mark, a hash of everything that the image depends on, a hash of the image, and the image. A file that does
//! not match is compiled again and replaced. If the cache cannot be written, kernels are compiled in every run.

use std::path::{Path, PathBuf};
use std::{env, fs};
use xxhash_rust::xxh3::xxh3_128;

const MARK: &[u8; 8] = b"mfenl01\n";
const HEADER: usize = MARK.len() + 32;

/// Returns the user's cache folder, or `None` if no environment variable names one.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("MINIFENL_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("minifenl")))
}

/// Returns the text that identifies an image: everything that its content depends on. The options contain the architecture.
pub(super) fn key(
    version: &str,
    name: &str,
    options: &[String],
    nvrtc: (i32, i32),
    driver: i32,
    source: &str,
) -> String {
    let (major, minor) = nvrtc;
    format!("minifenl {version} {name:?} {options:?} nvrtc {major}.{minor} driver {driver}\n{source}")
}

fn path(folder: &Path, name: &str, key: &str) -> PathBuf {
    folder.join(format!("{name}-{:032x}.bin", xxh3_128(key.as_bytes())))
}

/// Returns the image stored under `key`, if the file exists and is undamaged.
pub(super) fn load(folder: &Path, name: &str, key: &str) -> Option<Vec<u8>> {
    let file = fs::read(path(folder, name, key)).ok()?;
    let (header, image) = file.split_at_checked(HEADER)?;
    (header == self::header(key, image)).then(|| image.to_vec())
}

/// Stores an image under `key`. The rename makes it appear complete or not at all, also if several processes store it.
pub(super) fn store(folder: &Path, name: &str, key: &str, image: &[u8]) {
    let path = path(folder, name, key);
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let file = [&header(key, image)[..], image].concat();
    if fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, file))
        .and_then(|()| fs::rename(&temporary, &path))
        .is_err()
    {
        let _ = fs::remove_file(&temporary);
    }
}

fn header(key: &str, image: &[u8]) -> Vec<u8> {
    [&MARK[..], &xxh3_128(key.as_bytes()).to_le_bytes(), &xxh3_128(image).to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that misses one of its parts makes a run load the image of another one.
    #[test]
    fn a_key_changes_with_each_part() {
        let options = |list: &[&str]| list.iter().map(|option| option.to_string()).collect::<Vec<_>>();
        let both = options(&["--gpu-architecture=sm_90", "--std=c++17"]);
        let keys = [
            key("0.1.0", "cg", &both, (13, 0), 13000, "a"),
            key("0.1.1", "cg", &both, (13, 0), 13000, "a"),
            key("0.1.0", "spmv", &both, (13, 0), 13000, "a"),
            key("0.1.0", "cg", &options(&["--gpu-architecture=sm_100", "--std=c++17"]), (13, 0), 13000, "a"),
            key("0.1.0", "cg", &options(&["--gpu-architecture=sm_90"]), (13, 0), 13000, "a"),
            key("0.1.0", "cg", &options(&["--gpu-architecture=sm_90 --std=c++17"]), (13, 0), 13000, "a"),
            key("0.1.0", "cg", &[], (13, 0), 13000, "a"),
            key("0.1.0", "cg", &both, (12, 0), 13000, "a"),
            key("0.1.0", "cg", &both, (13, 1), 13000, "a"),
            key("0.1.0", "cg", &both, (13, 0), 13010, "a"),
            key("0.1.0", "cg", &both, (13, 0), 13000, "b"),
        ];
        let different: std::collections::HashSet<_> = keys.iter().map(|key| path(Path::new("x"), "cg", key)).collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(keys[0], key("0.1.0", "cg", &both, (13, 0), 13000, "a"));
    }

    #[test]
    fn what_is_stored_comes_back_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        // The first store creates it.
        let folder = &dir.path().join("minifenl");
        assert_eq!(load(folder, "room", "key"), None);
        store(folder, "room", "key", b"image");
        assert_eq!(load(folder, "room", "key").unwrap(), b"image");
        assert_eq!(load(folder, "room", "other key"), None);
        let path = path(folder, "room", "key");
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..3], &[], &[b"x", &whole[1..]].concat()] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(load(folder, "room", "key"), None);
        }
        store(folder, "room", "key", b"again");
        assert_eq!(load(folder, "room", "key").unwrap(), b"again");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "no temporary file is left");
        let nowhere = &path.join("no folder");
        store(nowhere, "room", "key", b"nowhere");
        assert_eq!(load(nowhere, "room", "key"), None);
    }
}
