//! Finds two names that lead to one file, before a run writes one of them over the other.
//!
//! A name is compared by its folder and its last part after all symbolic links, so files need not exist; existing files also by
//! device and inode, which all hard links of a file share.

use super::output::resolve;
use crate::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file of a run: what messages call it, and its path.
pub type NamedFile = (String, PathBuf);

/// What two names of one file have in common.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    /// Path without links.
    Path(PathBuf),
    /// Device and inode.
    #[cfg(unix)]
    Inode(u64, u64),
}

/// Refuses names of one file: two outputs, or an input and an output. O(files) calls of the file system.
///
/// # Errors
/// [`Error::Invalid`] with the first name that leads to the file of an earlier one, and that one.
pub fn check_distinct(files: &[NamedFile]) -> Result<()> {
    let mut known = HashMap::new();
    for (name, path) in files {
        let identities = identities(path);
        if let Some(other) = identities.iter().find_map(|identity| known.get(identity)) {
            return Err(Error::Invalid(format!("{name}: this is {other}; give another file")));
        }
        known.extend(identities.into_iter().map(|identity| (identity, name)));
    }
    Ok(())
}

/// By what a file is known. A path that cannot be followed has none: opening it fails with the reason.
fn identities(path: &Path) -> Vec<Identity> {
    let Ok(target) = resolve(path) else { return Vec::new() };
    // The folder of a bare name is the current one; one that is not there yet is compared by its name.
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.into());
    let whole = Identity::Path(folder.join(target.file_name().unwrap_or_default()));
    #[cfg(unix)]
    if let Ok(found) = target.metadata() {
        use std::os::unix::fs::MetadataExt;
        return vec![whole, Identity::Inode(found.dev(), found.ino())];
    }
    vec![whole]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_are_refused_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("old"), "x").unwrap();
        let check = |names: &[&str]| {
            let files: Vec<_> = names.iter().map(|name| (format!("--{name}"), at(name))).collect();
            check_distinct(&files).map_err(|error| error.to_string())
        };
        let mut pairs = vec![("new", "./new"), ("new", "sub/../new"), ("sub/new", "sub/./new"), ("no/new", "no/new")];
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink("old", at("link")).unwrap();
            symlink("absent", at("dangling")).unwrap();
            symlink("sub", at("folder")).unwrap();
            std::fs::hard_link(at("old"), at("hard")).unwrap();
            pairs.extend([("old", "link"), ("absent", "dangling"), ("sub/new", "folder/new"), ("old", "hard")]);
        }
        for (one, other) in pairs {
            for names in [[one, other], [other, one]] {
                let expected = format!("--{}: this is --{}; give another file", names[1], names[0]);
                assert_eq!(check(&["apart", names[0], "sub/apart", names[1]]), Err(expected));
            }
        }
        assert_eq!(check(&["a", "sub/a", "A", "old", "a.b", "sub"]), Ok(()));
    }
}
