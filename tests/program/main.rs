//! The program as its users see it, on one rank and, where a test says so, on several: flags, decks, mistakes, reports, files, verdict.

#[allow(dead_code)]
#[path = "../../apps/minifenl/args.rs"]
mod args;
mod cli;
mod flags;
mod output;
mod problems;
mod published;
mod schema;
mod settings;
mod usage;
mod verdict;
