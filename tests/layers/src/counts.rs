//! Numbers that pages state and the tree can count.

use std::collections::BTreeMap;

/// Mutants per list of `tests/mutants`: entries are lines that begin with `["name", `.
fn mutants() -> BTreeMap<String, usize> {
    let is_entry = |line: &&str| line.trim_start().starts_with("[\"");
    let lists = super::files("tests/mutants", &["toml"]).into_iter();
    lists.map(|(name, text)| (name.replace(".toml", ""), text.lines().filter(is_entry).count())).collect()
}

/// Rows of tables that begin with a name in code and end with a number.
fn rows(page: &str) -> BTreeMap<String, usize> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split('|');
        let name = cells.next()?.split('`').next()?.to_string();
        Some((name, cells.next_back()?.trim().parse().ok()?))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn pages_count_the_mutants_of_the_tree() {
    let page = std::fs::read_to_string(support::root().join("docs/reliability.md")).unwrap();
    let expected = mutants();
    let (_, table) = page.split_once("| list | mutants |").expect("the table of the lists");
    assert_eq!(rows(table), expected, "docs/reliability.md, the table of the lists");
    let all: usize = expected.values().sum();
    assert!(page.contains(&format!("| {all} mutants |")), "docs/reliability.md: the tree has {all} mutants");
}

#[test]
fn rows_with_a_number_are_read() {
    let page = "| list | mutants |\n|---|---|\n| `a` (x, `y`) | 12 |\n| `b` | 3 | 4 |\n| `c` | many |\ntext 5 |\n";
    assert_eq!(rows(page), BTreeMap::from([("a".into(), 12), ("b".into(), 4)]));
}
