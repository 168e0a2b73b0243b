//! What the programs share: flags, exit codes, progress on a terminal.

pub mod args;
pub mod exit;
pub mod progress;
