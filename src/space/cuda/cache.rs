//! Cache of compiled kernels on disk, in the user's cache folder (`MINIFENL_CACHE`, else `XDG_CACHE_HOME` or `~/.cache`).
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
