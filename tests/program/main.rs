//! The program as its users see it, on one rank and, where a test says so, on several: flags, decks, mistakes, reports, files, verdict.

#[allow(dead_code)]
#[path = "../../apps/minifenl/args.rs"]
mod args;
mod cli;
#[allow(dead_code)]
#[path = "../../apps/minifenl/colour.rs"]
mod colour;
#[path = "../../apps/minifenl/comparison.rs"]
mod comparison;
mod flags;
mod output;
mod problems;
mod published;
#[path = "../../apps/minifenl/report_file.rs"]
mod report_file;
mod schema;
mod settings;
#[allow(dead_code)]
#[path = "../../apps/minifenl/time_left.rs"]
mod time_left;
mod usage;
mod verdict;
