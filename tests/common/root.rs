//! Where the tests find decks and recorded tables.

use std::path::PathBuf;

/// Returns the folder that holds `inputs/` and `docs/`: the repository, or a folder made by `make dist`.
pub fn root() -> PathBuf {
    let package = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    package.ancestors().find(|folder| folder.join("inputs/contractions").is_dir()).unwrap().into()
}
