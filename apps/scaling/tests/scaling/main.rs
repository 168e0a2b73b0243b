//! The program of the scaling study as a user meets it.

#![cfg(unix)]

mod made_up;
mod peers;
mod runs;
