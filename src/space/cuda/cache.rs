//! Compiled kernels on disk, under the user's cache folder (`MINIFENL_CACHE`, else `XDG_CACHE_HOME` or `~/.cache`).
//!
//! A file holds a mark, a hash of all that its content depends on, a hash of the content, the content. Whatever does not
//! fit is built anew and replaced. A cache that cannot be written costs time and nothing else.

use std::path::{Path, PathBuf};
use std::{env, fs};
use xxhash_rust::xxh3::xxh3_128;

const MARK: &[u8; 8] = b"mfenl01\n";
const HEADER: usize = MARK.len() + 32;

/// The user's cache folder, where there is one.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("MINIFENL_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("minifenl")))
}

fn path(folder: &Path, name: &str, key: &str) -> PathBuf {
    folder.join(format!("{name}-{:032x}.bin", xxh3_128(key.as_bytes())))
}

/// The content stored under `key`, if it is there and whole.
pub(super) fn load(folder: &Path, name: &str, key: &str) -> Option<Vec<u8>> {
    let file = fs::read(path(folder, name, key)).ok()?;
    let (header, image) = file.split_at_checked(HEADER)?;
    (header == self::header(key, image)).then(|| image.to_vec())
}

/// Stores content, whole or not at all.
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
        // Made at the first store.
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
