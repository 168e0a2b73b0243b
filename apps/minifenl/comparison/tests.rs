use super::*;
use serde_json::json;

fn report(cg: f64, scan: f64, threads: usize) -> Value {
    json!({
        "schema_version": 1, "date": format!("day {cg}"), "threads": threads, "verified": cg < 5.0, "total_seconds": 10.0 + cg,
        "provenance": {"command": [cg], "build": {"commit": "abc", "features": ["a", "b"]}},
        "phases": [
            {"name": "scan", "seconds": scan},
            {"name": "cg", "seconds": cg, "spread": {"noisy": cg > 2.5}},
            {"name": "total", "seconds": 10.0 + cg},
        ],
    })
}

#[test]
fn ratios_are_b_over_a_and_short_phases_are_not_judged() {
    let comparison = Comparison::new(&report(2.0, 0.1, 1), &report(3.0, 0.4, 2));
    let found: Vec<_> = comparison.phases.iter().map(|phase| (&*phase.name, phase.ratio(), phase.is_judged)).collect();
    assert_eq!(found, [("scan", Some(4.0), false), ("cg", Some(1.5), true), ("total", Some(13.0 / 12.0), true)]);
    let names = |limit| comparison.above(limit).iter().map(|phase| &*phase.name).collect::<Vec<_>>();
    assert_eq!((names(1.05), names(1.2), names(1.5)), (vec!["cg", "total"], vec!["cg"], vec![]));
    assert_eq!(comparison.differences, [["threads".to_string(), "1".into(), "2".into()]]);
    assert!(comparison.phases[1].is_noisy && comparison.table().contains("1.500  noisy"), "{}", comparison.table());
}

#[test]
fn reports_of_other_problems_are_named() {
    let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
    (a["mesh"], b["mesh"]) = (json!({"nodes": [8, 8, 8]}), json!({"nodes": [8, 8, 8]}));
    assert_eq!(Comparison::new(&a, &b).other_problem(), None);
    b["mesh"]["nodes"][1] = 9.into();
    let comparison = Comparison::new(&a, &b);
    assert_eq!(comparison.other_problem(), Some("mesh.nodes"));
    assert!(comparison.table().contains("different problems (mesh.nodes)"), "{}", comparison.table());
    // The name is told before what follows from it.
    (a["problem"], b["problem"]) =
        (json!({"components": 1, "name": "heat"}), json!({"components": 3, "name": "elasticity"}));
    assert_eq!(Comparison::new(&a, &b).other_problem(), Some("problem.name"));
    b["problem"] = json!({"components": 3, "name": "heat"});
    assert_eq!(Comparison::new(&a, &b).other_problem(), Some("mesh.nodes"));
}

#[test]
fn a_phase_of_one_report_has_no_ratio_and_a_new_one_is_above() {
    let (a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
    b["phases"][0]["name"] = "sort".into();
    let comparison = Comparison::new(&a, &b);
    let names: Vec<&str> = comparison.phases.iter().map(|phase| &*phase.name).collect();
    assert_eq!(names, ["scan", "cg", "sort", "total"]);
    assert_eq!((comparison.phases[0].seconds, comparison.phases[0].ratio()), ([Some(1.0), None], None));
    assert_eq!(comparison.above(1.1).iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["sort"]);
    b["provenance"]["build"] = json!({"commit": "def", "features": ["a"]});
    let differences = Comparison::new(&a, &b).differences;
    assert_eq!(differences.len(), 2);
    assert_eq!(differences[1], ["build.features", "[\"a\",\"b\"]", "[\"a\"]"].map(String::from));
}

/// A phase that A has in no time has no ratio, and more time in B is above any.
#[test]
fn a_phase_of_no_time_in_a_is_above_in_b() {
    let comparison = Comparison::new(&report(2.0, 0.0, 1), &report(2.0, 4.0, 1));
    assert_eq!((comparison.phases[0].ratio(), comparison.phases[0].is_judged), (None, true));
    assert_eq!(comparison.above(9e9).iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["scan"]);
}

#[test]
fn a_choice_left_to_a_preset_is_told_by_what_it_chose() {
    let run = |preset: &str, format: &str, forcing: &str, chosen: &str| {
        let deck = json!({"run": {"preset": preset}, "matrix": {"format": format}, "newton": {"forcing": forcing}});
        let mut report = report(2.0, 1.0, 1);
        report["provenance"]["deck"] = deck;
        report["strategies"] = json!({"format": chosen, "format_reason": format!("preset {preset}")});
        report
    };
    let found =
        |a: &Value, b: &Value| Comparison::new(a, b).differences.into_iter().map(|[key, ..]| key).collect::<Vec<_>>();
    let papers = run("papers", "crs", "fixed", "crs");
    assert_eq!(found(&papers, &run("fast", "auto", "auto", "crs")), ["deck.run.preset"]);
    assert_eq!(found(&papers, &run("fast", "auto", "auto", "pattern")), ["deck.run.preset", "strategies.format"]);
    let fast = run("fast", "auto", "auto", "crs");
    assert_eq!(found(&run("fast", "crs", "fixed", "crs"), &fast), ["deck.newton.forcing"]);
    assert_eq!(
        found(&papers, &run("papers", "pattern", "fixed", "pattern")),
        ["deck.matrix.format", "strategies.format"]
    );
}

#[test]
fn values_leave_room_for_their_key() {
    let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
    let long = "v".repeat(40);
    (a["partition"], b["partition"]) = (json!({"x".repeat(40): long}), json!({"x".repeat(40): 1}));
    let table = Comparison::new(&a, &b).table();
    assert!(table.contains(&format!("{}...", "v".repeat(9))), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn keys_of_an_algorithm_are_compared_where_both_runs_used_it() {
    let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
    (a["pair_map"], b["pair_map"]) = (json!({"capacity": 8}), Value::Null);
    (a["levels"], b["levels"]) = (json!([{"rows": 27, "seconds": 0.5}, {"rows": 8}]), json!([]));
    a["strategies"] = json!({"contractions": {"data_field_scalar": 4}});
    assert_eq!(Comparison::new(&a, &b).differences, [[""; 3]; 0]);
    b["pair_map"] = json!({"capacity": 9});
    b["levels"] = json!([{"rows": 64, "seconds": 0.25}]);
    let differences = Comparison::new(&a, &b).differences;
    assert_eq!(
        differences,
        [["levels.0.rows", "27", "64"], ["pair_map.capacity", "8", "9"]].map(|row| row.map(String::from))
    );
}

#[test]
fn a_verdict_is_verified_not_judged_or_not_verified() {
    let mut b = report(9.0, 1.0, 1);
    let verdict = |b: &Value| Comparison::new(&report(2.0, 1.0, 1), b).verdicts;
    assert_eq!(verdict(&b), ["VERIFIED", NOT_VERIFIED]);
    (b["cg_iterations_asked"], b["verdict"]) = (20.into(), json!(["not asked: a number was given"]));
    assert_eq!(verdict(&b)[1], "NOT JUDGED");
    assert!(Comparison::new(&b, &b).table().ends_with("\nA NOT JUDGED, B NOT JUDGED\n"));
    b["verdict"] = json!(["CG broke down"]);
    assert_eq!(verdict(&b)[1], NOT_VERIFIED);
}

#[test]
fn keys_and_values_cannot_steer_a_terminal() {
    let (a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
    b["nodes\u{1b}]0;x\u{7}"] = json!("\u{1b}[2J\n\u{202e}");
    let comparison = Comparison::new(&a, &b);
    let text = comparison.table();
    assert!(!text.contains(|c: char| c.is_control() && c != '\n') && text.contains("\\u{1b}[2J\\n"), "{text}");
    assert_eq!(comparison.other_problem(), Some("nodes\\u{1b}]0;x\\u{7}"));
}

/// Numbers of six digits, long texts cut, keys of one report.
#[test]
fn the_whole_table_is_as_by_hand() {
    let (mut a, mut b) = (report(2.0, 0.1, 1), report(3.0, 0.4, 2));
    (a["host"], b["host"]) = (json!("a-host-with-a-long-name"), json!("b"));
    (a["load"], b["load"]) = (json!(123456.7890123), json!(0.00012345678901));
    a["extra"] = json!(true);
    let lines = [
        "phase  A seconds  B seconds    B/A",
        "scan      0.1000     0.4000  4.000  short",
        "cg        2.0000     3.0000  1.500  noisy",
        "total    12.0000    13.0000  1.083",
        "",
        "differs                       A           B",
        "extra                      true   not given",
        "host     a-host-with-a-long-...           b",
        "load              123456.789012  1.23457e-4",
        "threads                       1           2",
        "",
        "short: below 5 % of both totals, not judged",
        "A VERIFIED, B VERIFIED",
    ];
    assert_eq!(Comparison::new(&a, &b).table(), lines.join("\n") + "\n");
}
