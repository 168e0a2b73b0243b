//! The program of the scaling study as a user meets it.

#![cfg(unix)]

mod guarded;
mod made_up;
mod peers;
mod runs;
mod whole;
