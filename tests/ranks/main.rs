//! The program on several ranks, which `mpirun` starts: results, refusals, and how jobs end that fail.

mod ends;
mod flags;
mod hosts;
mod job;
mod jobs;
mod namespaces;
#[path = "../program/settings.rs"]
#[allow(dead_code)]
mod settings;
