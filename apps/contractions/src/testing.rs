//! Where the tests find the recorded sweeps, and the GPU.

use minifenl::space::Cuda;
use std::io::Write;
use std::path::PathBuf;

/// Returns the folder that holds `inputs/` and `docs/`: the repository, or a folder made by `make dist`.
pub fn root() -> PathBuf {
    let package = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    package.ancestors().find(|folder| folder.join("inputs/contractions").is_dir()).unwrap().into()
}

/// Returns the first GPU. Where there is none, says so, notes the skipped test in the file that `MINIFENL_SKIPPED` names and
/// returns `None`; with `MINIFENL_NEEDS_GPU` set a missing GPU is a failure.
pub fn gpu(test: &str) -> Option<Cuda> {
    let why = match Cuda::new(0) {
        Ok(space) => return Some(space),
        Err(error) => error.to_string(),
    };
    assert!(std::env::var_os("MINIFENL_NEEDS_GPU").is_none(), "{test}: {why}");
    eprintln!("skipped: {test}: {why}");
    if let Some(path) = std::env::var_os("MINIFENL_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
    None
}
