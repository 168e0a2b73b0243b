//! Tells an absent shared library from a broken one.
//!
//! The loader's own message tells them apart. A file of the right name that is damaged, empty, of another architecture or not
//! readable must not be reported as missing.

use libloading::Library;
use std::error::Error as _;

/// Says why none of these libraries can be loaded: the loader's message about the first that is there, `None` if all are
/// absent.
pub(super) fn broken(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| load(name).err().filter(|reason| !is_absent(name, reason)))
}

/// Names the first function that the first of these libraries that can be loaded lacks.
pub(super) fn lacking(names: &[&str], functions: &[&str]) -> Option<String> {
    let (name, library) = names.iter().find_map(|name| Some((name, load(name).ok()?)))?;
    // SAFETY: the address is not used.
    let is_lacking = |function: &&&str| unsafe { library.get::<*const ()>(**function) }.is_err();
    functions.iter().find(is_lacking).map(|function| format!("{name}: no function {function}"))
}

/// Loads the first of these libraries that is there.
///
/// # Errors
/// The loader's message about the first that is there and cannot be loaded, `None` if all are absent.
pub(super) fn open(names: &[&str]) -> Result<&'static Library, Option<String>> {
    names.iter().find_map(|name| load(name).ok()).ok_or_else(|| broken(names))
}

/// Returns whether the loader's message says that no file of this name was found. The message about a library that needs an
/// absent one begins with the name of the absent one.
fn is_absent(name: &str, reason: &str) -> bool {
    reason.starts_with(&format!("{name}:")) && reason.contains("No such file")
}

/// Loads a library, which stays loaded: unloading a driver that has started threads is not safe.
fn load(name: &str) -> Result<&'static Library, String> {
    // SAFETY: the initialisers of the library run, as they do when the library is used.
    let library = unsafe { Library::new(name) }.map_err(|error| error.source().unwrap_or(&error).to_string())?;
    Ok(Box::leak(Box::new(library)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_and_a_broken_one_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libbroken.so.1");
        let name = path.to_str().unwrap();
        assert_eq!(broken(&[name, "libminifenl-has-no-such-library.so"]), None);
        for content in [&b""[..], b"\x7fELF", &[b'x'; 4096], b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xff\xff"] {
            std::fs::write(&path, content).unwrap();
            let reason = broken(&["libminifenl-has-no-such-library.so", name]).expect("it is there");
            assert!(reason.starts_with(name) && reason.lines().count() == 1, "{reason}");
        }
    }

    #[test]
    fn a_library_without_the_functions_is_broken() {
        // The C library of this process is loaded already.
        assert_eq!(lacking(&["libminifenl-has-no-such-library.so", "libc.so.6"], &["malloc"]), None);
        assert_eq!(lacking(&["libc.so.6"], &["malloc", "cuInit"]).unwrap(), "libc.so.6: no function cuInit");
    }
}
