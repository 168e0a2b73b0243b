//! What the programs of this project share: exit codes, one-line messages, completions, a status line on a terminal.
//!
//! Functions that produce output write it to the stream that the program hands them; nothing here exits.

mod command_line;
mod exit;
mod status_line;
mod streams;

pub use command_line::{completions, parse, parse_from, said, usage};
pub use exit::Exit;
pub use status_line::{Look, StatusLine};
pub use streams::{failure, is_first, show};
