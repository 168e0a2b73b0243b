//! `verify`: the lines and the report of its checks against the numbers of each check.

use super::run;
use support::json;

#[test]
fn checks_are_counted_shown_and_written_by_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checks.json");
    let (code, out, err) = run(&["verify", "--device", "cpu", "--threads", "2", "--report", path.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let report = json(&path);
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(
        (&report["passed"], &report["failed"], &report["skipped"]),
        (&checks.len().into(), &0.into(), &0.into())
    );
    assert!(out.ends_with(&format!("\nPASS: {} passed, 0 failed, 0 not on this device\n", checks.len())), "{out}");
    let mut shown = out.lines().filter(|line| line.starts_with("  "));
    for check in checks {
        let [found, expected, bound] = ["found", "expected", "bound"].map(|key| check[key].as_f64().unwrap());
        assert!((found - expected).abs() <= bound && check["error"].is_null(), "{check}");
        let numbers = match expected {
            0.0 => format!("{found:.1e} of {bound:.0e}"),
            _ => format!("{found:.2}, expected {expected:.0} +- {bound:.2}"),
        };
        let line = format!("  {:<36} pass  {numbers}", check["name"].as_str().unwrap());
        assert_eq!((shown.next(), &check["result"]), (Some(&*line), &"pass".into()));
    }
    assert_eq!(shown.next(), None);
    // The order of an error in L2 is the degree of the shape functions plus one, in H1 the degree.
    for (name, order) in
        [("hex8, none, L2", 2.0), ("hex8, none, H1", 1.0), ("tet10, none, L2", 3.0), ("hex20, none, H1", 2.0)]
    {
        let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {out}"));
        assert_eq!((check["expected"].as_f64(), check["bound"].as_f64()), (Some(order), Some(0.05 * order)), "{name}");
    }
}
