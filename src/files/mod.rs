//! Reads input files and writes output files whole.
//!
//! Every file that a user names is read by [`read_text`] and written by [`write()`], an [`OutputFile`] or a
//! [`TableFile`].
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("minifenl-files-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! use minifenl::files::{read_text, write};
//!
//! let path = folder.join("notes.txt");
//! write(&path, b"first")?;
//! write(&path, b"second")?;
//! assert_eq!(read_text(&path, 1 << 20)?, "second");
//! assert!(read_text(&path, 3).unwrap_err().to_string().ends_with("notes.txt: larger than 3 bytes"));
//! assert!(read_text(&folder, 3).unwrap_err().to_string().ends_with("a folder, expected a regular file"));
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), minifenl::Error>(())
//! ```

mod append;
mod distinct;
mod folder;
mod input;
mod output;

pub use append::TableFile;
pub use distinct::{NamedFile, check_distinct};
pub use folder::create_folder;
pub use input::read_text;
pub use output::{NotWritten, OutputFile, write};
