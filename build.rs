//! Records what a report says about the build: compiler, target, features and commit.
//!
//! The commit is that of the sources of the library and the program, `-dirty` if these differ from it. Without git, or in a folder that
//! is no checkout of this project, it is that of `.cargo_vcs_info.json` (a package from a registry), else unknown. Debug builds do not
//! record a commit, since each commit would recompile the crate.

use std::path::Path;
use std::process::Command;

/// What a build consists of.
const SOURCES: [&str; 6] = ["src", "kernels", "apps/minifenl", "Cargo.toml", "Cargo.lock", "build.rs"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = variable("RUSTC").and_then(|rustc| output(&rustc, &["--version"]));
    set("RUSTC", rustc);
    set("TARGET", variable("TARGET"));
    set("TARGET_FEATURES", variable("CARGO_CFG_TARGET_FEATURE"));
    let is_debug = variable("PROFILE").is_none_or(|profile| profile == "debug");
    set("COMMIT", if is_debug { Some("not recorded in debug builds".into()) } else { commit() });
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn set(name: &str, value: Option<String>) {
    println!("cargo:rustc-env=MINIFENL_BUILD_{name}={}", value.unwrap_or_else(|| "unknown".into()));
}

/// Returns the first line that a program prints, if it can be run and succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().next().unwrap_or("").trim().into())
}

fn commit() -> Option<String> {
    from_git().or_else(from_package)
}

fn from_git() -> Option<String> {
    let root = output("git", &["rev-parse", "--show-toplevel"])?;
    // The sources may lie in the checkout of another project.
    let is_ours =
        Path::new(&root).canonicalize().ok()? == Path::new(&variable("CARGO_MANIFEST_DIR")?).canonicalize().ok()?;
    let commit = output("git", &["rev-parse", "HEAD"]).filter(|_| is_ours)?;
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    for file in ["HEAD", "logs/HEAD"] {
        let path = output("git", &["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let changed = output("git", &[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Reads `{"git": {"sha1": "..."}}`, which `cargo package` adds.
fn from_package() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let after = text.split("\"sha1\"").nth(1)?;
    let commit = after.split('"').nth(1)?;
    Some(if text.contains("\"dirty\": true") { format!("{commit}-dirty") } else { commit.into() })
}
