//! Shared by the programs of this project: exit codes, one-line messages, completions, man page, colours, a status line on a
//! terminal, the time that is left.
//!
//! Functions that produce output write it to the stream that the program hands them; nothing here exits.

mod colour;
mod command_line;
mod exit;
mod names;
mod others;
mod status_line;
mod streams;
mod time_left;

pub use colour::{Colour, Tone, has_colours, paint, paint_verdict};
pub use command_line::{completions, man_page, parse, parse_from, said, usage};
pub use exit::Exit;
pub use names::{Named, auto_or, named};
pub use others::Others;
pub(super) use others::{allowed, list};
pub use status_line::{Look, StatusLine};
pub use streams::{failure, is_first, show};
pub use time_left::{TimeLeft, clock};
