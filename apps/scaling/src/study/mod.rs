//! A study: what it runs, how it starts the runs, what their reports say, and the table made from them.

pub mod cores;
mod guarded;
pub mod launch;
mod lock;
pub mod others;
pub mod peer;
pub mod placement;
pub mod plan;
pub mod record;
pub mod slurm;
pub mod table;
pub mod text;

pub use launch::{Launcher, run};
pub use lock::lock;
pub use plan::{Kind, Study};
#[cfg(test)]
pub use record::Record;
pub use table::{Row, Table};
