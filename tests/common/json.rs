//! Reads the reports that programs write.

use std::path::Path;

/// Reads a JSON file.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
