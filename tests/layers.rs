//! The house keeps its floors: imports go only downwards, `unsafe` stays in its rooms, files stay short.

use std::{fs, path::Path, path::PathBuf};

/// Room and floor. A room may use itself and rooms of lower floors.
const FLOORS: &[(&str, u32)] = &[
    ("run", 9),
    ("solve", 8),
    ("fill", 7),
    ("graph", 6),
    ("mesh", 5),
    ("comm", 4),
    ("sparse", 3),
    ("element", 2),
    ("contraction", 2),
    ("blas", 2),
    ("space", 1),
    ("error", 0),
];
const UNSAFE: &[&str] = &["space/atomic.rs", "space/memory.rs", "space/prefetch.rs", "space/cuda", "comm/mpi"];
const MAX_LINES: usize = 400;

fn floor(room: &str) -> Option<u32> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Rooms named after `crate::`, also inside braces of any depth.
fn rooms(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (start, _) in code.match_indices("crate::") {
        let rest = code[start + 7..].trim_start();
        let Some(list) = rest.strip_prefix('{') else {
            rooms.push(word(rest));
            continue;
        };
        let (mut depth, mut item) = (0, String::new());
        for c in list.chars() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => rooms.push(word(std::mem::take(&mut item).trim())),
                _ => item.push(c),
            }
        }
        rooms.push(word(item.trim()));
    }
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn the_house_stands() {
    let root = Path::new("src");
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    sources(root, &mut files);
    assert!(files.len() > 10);
    for path in files {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        if text.lines().count() > MAX_LINES {
            faults.push(format!("{name}: {} lines, {MAX_LINES} at most", text.lines().count()));
        }
        let code: String =
            text.lines().map(|line| line.split("//").next().unwrap_or("")).fold(String::new(), |a, b| a + b + "\n");
        let is_unsafe = code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
        if is_unsafe && !UNSAFE.iter().any(|room| name.starts_with(room)) {
            faults.push(format!("{name}: unsafe"));
        }
        let room = name.split(['/', '.']).next().unwrap();
        if room == "lib" {
            continue;
        }
        let Some(own) = floor(room) else {
            faults.push(format!("{name}: room `{room}` has no floor"));
            continue;
        };
        for used in rooms(&code) {
            if used != room && floor(&used).is_some_and(|used| used >= own) {
                faults.push(format!("{name} (floor {own}) imports from `{used}` (floor {})", floor(&used).unwrap()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn imports_are_found() {
    assert_eq!(rooms("use crate::{Error, run::{Deck, x}, mesh}; crate::fill::f()"), ["Error", "run", "mesh", "fill"]);
}
