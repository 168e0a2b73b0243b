//! What the programs share: flags, exit codes, progress on a terminal, the table of kernels.

pub mod args;
pub mod exit;
pub mod kernels;
pub mod progress;
pub mod self_test;
