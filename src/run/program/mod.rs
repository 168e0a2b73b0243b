//! Shared by the programs: exit codes, messages, completions, man page, a status line.
//!
//! Functions that produce output write it to the stream that the program hands them; nothing here exits.

mod command_line;
mod exit;
mod others;
mod status_line;
mod streams;
mod width;

pub use command_line::{completions, man_page, parse, parse_from, said, usage};
pub use exit::Exit;
pub use others::Others;
pub(super) use others::allowed;
pub use status_line::{Look, StatusLine};
pub use streams::{check_stdout, failure, is_first, show};
pub use width::{columns_of, wrapped};
