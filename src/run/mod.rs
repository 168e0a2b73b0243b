//! The program's run: deck, driver, report.
//!
//! [`solve`] takes a [`Deck`] of settings and returns a [`Report`]. Nothing
//! here prints: progress goes to a [`Progress`], a report becomes text by [`Report::table`] or a file by [`ReportFormat`].
//!
//! ```
//! use minifenl::comm::Solo;
//! use minifenl::run::{Deck, Device, silent, deck::Nodes, solve};
//!
//! let mut deck = Deck::default();
//! (deck.mesh.nodes, deck.run.device) = (Some(Nodes::new([9; 3])?), Device::Cpu);
//! let report = solve(&deck, &Solo, &silent)?;
//! assert!(report.verified && report.newton_iterations == 3, "{}", report.table());
//!
//! // With mesh and temperature.
//! let solution = minifenl::run::solution(&deck, &Solo, &silent)?;
//! let hottest = solution.field.iter().zip(&solution.mesh.node_coord).max_by(|a, b| a.0.total_cmp(b.0));
//! assert!(hottest.is_some_and(|(temperature, [_, _, z])| (*temperature, *z) == (2.0, 1.0)));
//! # Ok::<(), minifenl::Error>(())
//! ```

mod bandwidth;
mod choices;
pub mod clock;
pub mod cost;
#[cfg(feature = "cuda")]
mod cuda;
pub mod deck;
mod driver;
pub mod dry_run;
pub mod forecast;
mod host;
mod job;
mod judged;
mod meshes;
mod phases;
mod problem;
pub mod program;
mod progress;
pub mod provenance;
pub mod report;
mod settings;
mod solution;
mod steps;
mod strategies;
mod summary;
mod verdict;
mod verify;
mod vtk;

pub use crate::element::Analytic;
pub use deck::{Chosen, Deck, Device};
pub use driver::{solution, solution_on, solve, solve_on};
pub use dry_run::{DryRun, dry_run};
pub use job::Job;
pub use phases::{PhaseTotals, Phases};
pub use problem::{Problem, ProblemInput};
pub use progress::{Event, Progress, silent};
pub use report::{Report, ReportFormat};
pub use settings::same_settings;
pub use solution::Solution;
pub use strategies::{Compared, Promise, StrategyStudy, strategies, strategies_on};
pub use verify::{Check, verify};
