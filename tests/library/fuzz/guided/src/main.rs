//! Runs the target that `MINIFENL_FUZZ_TARGET` names on the inputs of libFuzzer; `make fuzz` calls it for each target.

#![no_main]

#[path = "../../targets/mod.rs"]
mod targets;

use std::sync::LazyLock;
use targets::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let wanted = std::env::var("MINIFENL_FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
    let found = targets::ALL.iter().find(|target| target.name == wanted);
    found.unwrap_or_else(|| panic!("MINIFENL_FUZZ_TARGET is `{wanted}`: choose one of {}", names.join(", ")))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (TARGET.run)(data);
});
