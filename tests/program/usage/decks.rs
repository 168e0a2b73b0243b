//! Decks that are wrong or damaged.

use super::*;

/// TOML that is wrong for every key.
const WRONG_TOML: &[&str] = &[
    "{}",
    "{a = 1}",
    "[[]]",
    "[1, \"x\", 2]",
    "2020-01-01",
    "\"\\u001b[31m\"",
    "-7",
    "nan",
    "1e999",
    "\"\\n\"",
    "''",
    "99999999999999999999",
    "12:30:00",
];
/// Lines that are wrong in any section.
const WRONG_LINES: &[&str] = &[
    "nodez = 3",
    "= 3",
    "nodes",
    "\"\\u001b[2J\" = 1",
    "\u{1b}[2J",
    "t_min == 3",
    "[mesh",
    "[[run",
    "]",
    "a.b.c = 1",
    "\0",
    "'",
    "\"\"\"",
    "x = [1,",
    "[mesh.nodes.x]",
    "[nowhere]",
    "{",
    "map = \"none",
];

#[test]
fn wrong_decks_name_the_key_or_the_line() {
    let mut random = Random::new(13);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deck.toml");
    let name = path.to_str().unwrap();
    let (mut cases, mut processes) = (0, 0);
    while cases < 3000 {
        let mut values: Vec<(&str, &str)> = Vec::new();
        for setting in together() {
            match random.below(6) {
                0 => values.push((setting.key, setting.first.1)),
                1 => values.push((setting.key, setting.second.1)),
                _ => {}
            }
        }
        let (text, names);
        if random.below(2) == 0 && !values.is_empty() {
            let broken = random.below(values.len());
            values[broken].1 = random.pick(WRONG_TOML);
            let key = values[broken].0;
            if ["run.report", "run.append", "run.vtk"].contains(&key) && values[broken].1.starts_with('"') {
                // Any text but none is the name of a file.
                continue;
            }
            text = deck(values.iter().copied());
            names = vec![key.to_string()];
        } else {
            let right = deck(values.iter().copied());
            let mut lines: Vec<&str> = right.lines().collect();
            let place = random.below(lines.len() + 1);
            lines.insert(place, random.pick(WRONG_LINES));
            text = lines.join("\n");
            // Unclosed brackets and quotes are found where they end: at the latest in the last line.
            names = (place + 1..=lines.len() + 1).map(|line| format!(", line {line}: ")).collect();
        }
        std::fs::write(&path, &text).unwrap();
        let message = parsed(&["--input", name]).expect_err(&format!("accepted: {text}"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(&message, &names, &text);
        if cases % 30 == 0 {
            processes += 1;
            assert_eq!(run(&["--input", name], &[]), (2, String::new(), message), "{text}");
        }
        cases += 1;
    }
    println!("wrong decks: {cases} in this process, {processes} as processes");
}

/// A deck with bytes changed, removed and inserted at random is accepted, or refused in one line.
#[test]
fn damaged_decks_are_refused_in_one_line_or_accepted() {
    let mut random = Random::new(14);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deck.toml");
    let right = deck(together().map(|setting| (setting.key, setting.first.1)));
    let (mut accepted, total) = (0, 4000);
    for _ in 0..total {
        let mut bytes = right.clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => drop(bytes.drain(at..(at + random.below(20)).min(bytes.len()))),
                _ => bytes.insert(at, random.pick(b"[]{}=\"'.,#\n\r\t\x1b\0 -0_eEx:TZ\xff\xc3")),
            }
            if bytes.is_empty() {
                bytes.push(b'[');
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match parsed(&["--input", path.to_str().unwrap()]) {
            Ok(_) => accepted += 1,
            Err(message) => check(&message, &["line ", " (--"], &String::from_utf8_lossy(&bytes)),
        }
    }
    assert!((total / 100..total / 2).contains(&accepted), "{accepted}");
    println!("damaged decks: {total}; {accepted} of them are still decks");
}
