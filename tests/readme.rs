//! The README against the program.

/// The README speaks of every flag that the program has.
#[cfg(feature = "cli")]
#[test]
fn every_flag_is_in_the_readme() {
    let output = assert_cmd::Command::cargo_bin("minifenl").unwrap().arg("--help").output().unwrap();
    let (help, readme) = (String::from_utf8(output.stdout).unwrap(), include_str!("../README.md"));
    let flags = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
    for flag in flags.filter(|flag| !["--help", "--version"].contains(flag)) {
        assert!(readme.contains(flag), "{flag}");
    }
}
