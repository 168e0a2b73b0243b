//! Folders for the files of a program.

use super::output::failed;
use crate::Result;
use std::io;
use std::path::Path;

/// Makes a folder with those above it, unless it exists.
///
/// # Errors
/// [`Error::File`](crate::Error::File) naming the path: something else than a folder lies there, or the folder cannot be made.
pub fn create_folder(path: &Path) -> Result<()> {
    let made = std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::other("not a folder"),
        _ => error,
    });
    made.map_err(|error| failed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_and_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        for _ in 0..2 {
            create_folder(&path).unwrap();
        }
        std::fs::write(path.join("file"), "").unwrap();
        let error = create_folder(&path.join("file")).unwrap_err().to_string();
        assert!(error.ends_with("a/b/file: not a folder"), "{error}");
    }
}
