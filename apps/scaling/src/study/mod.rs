//! A study: what it runs, how it starts the runs, what their reports say, and the table made from them.

pub mod cores;
pub mod launch;
pub mod others;
pub mod peer;
pub mod placement;
pub mod plan;
pub mod record;
pub mod slurm;
pub mod table;

pub use launch::{Launcher, run};
pub use plan::{Kind, Study};
#[cfg(test)]
pub use record::Record;
pub use table::{Row, Table};
