//! The program of the contraction study as a user meets it.

mod commands;
mod output;
mod published;
