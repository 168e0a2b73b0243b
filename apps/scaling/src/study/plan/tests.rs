//! Tests of points, files and resumed studies.

use super::*;

fn study() -> Study {
    Study {
        kind: Kind::Weak,
        nodes: [8; 3],
        device: "cpu".into(),
        flags: vec![],
        ranks: vec![1, 2],
        threads: vec![1, 2],
        workers: None,
        imbalance: vec![0],
        repeats: 2,
    }
}

#[test]
fn runs_are_interleaved_and_points_are_in_the_order_of_their_size() {
    let point = Point::even;
    let points = [point(1, 1), point(1, 2), point(2, 1), point(2, 2)];
    assert_eq!(study().points(), points);
    // Fewest threads in all first, whatever the ranks.
    let wide = Study { threads: vec![1, 4], ..study() };
    assert_eq!(wide.points(), [point(1, 1), point(2, 1), point(1, 4), point(2, 4)]);
    let runs: Vec<_> = [1, 2].iter().flat_map(|&repeat| points.map(|point| (point, repeat))).collect();
    assert_eq!(study().runs(), runs);
    assert_eq!(study().nodes_of(2).unwrap(), [8, 16, 8]);
    assert_eq!(Study { kind: Kind::Strong, ..study() }.nodes_of(2).unwrap(), [8; 3]);
    assert_eq!(point(1, 2).to_string(), "1 rank x 2 threads");
}

#[test]
fn workers_are_shared_by_ranks_and_threads() {
    let shared = Study { workers: Some(4), ranks: vec![1, 2, 4], ..study() };
    assert_eq!(shared.points(), [Point::even(1, 4), Point::even(2, 2), Point::even(4, 1)]);
    assert!(shared.check().is_ok() && shared.command().contains(" --ranks 1,2,4 --workers 4 --repeats "));
    assert!(shared.to_string().ends_with("device cpu, 4 threads in all"), "{shared}");
    let error = Study { ranks: vec![1, 3], ..shared.clone() }.check().unwrap_err().to_string();
    assert!(error.contains("3 ranks cannot share 4 threads evenly; expected divisors of 4"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    shared.resume(folder.path()).unwrap();
    assert!(study().resume(folder.path()).unwrap_err().to_string().contains("other settings"));
}

#[test]
fn uneven_boxes_are_points_of_their_own_on_several_ranks() {
    let uneven = Study { threads: vec![1], imbalance: vec![0, 50], ..study() };
    let point = Point { ranks: 2, threads: 1, imbalance: 50 };
    assert_eq!(uneven.points(), [Point::even(1, 1), Point::even(2, 1), point]);
    assert_eq!(point.to_string(), "2 ranks x 1 thread, 50 % imbalance");
    assert_eq!(file(point, 3).to_str(), Some("runs/ranks-000002-threads-001-imbalance-050-3.json"));
    assert!(uneven.command().ends_with(" --imbalance 0,50") && !study().command().contains("imbalance"));
    assert!(uneven.check().is_ok());
    let error = Study { imbalance: vec![0, 100], ..uneven.clone() }.check().unwrap_err().to_string();
    assert!(error.contains("less than 100 % on 2 ranks"), "{error}");
    // Studies of before have even boxes, and a study of even boxes is written as before.
    let folder = tempfile::tempdir().unwrap();
    study().resume(folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("study.json")).unwrap();
    assert!(!text.contains("imbalance"), "{text}");
    let more = uneven.resume(folder.path()).unwrap();
    assert_eq!((&more.imbalance[..], &more.threads[..]), (&[0, 50][..], &[1, 2][..]));
    assert_eq!(Study::read(folder.path()).unwrap(), Some(more));
}

#[test]
fn a_study_of_foreign_numbers_or_words_is_refused() {
    let refused = |study: Study| study.check().unwrap_err().to_string();
    for (study, words) in [
        (Study { repeats: 1_000_000_000, ..study() }, "4000000000 runs"),
        (Study { repeats: usize::MAX, ..study() }, "expected at most 100000"),
        (
            Study {
                ranks: (1..=10).collect(),
                threads: (1..=10).collect(),
                imbalance: (0..10).collect(),
                repeats: 101,
                ..study()
            },
            "101000 runs",
        ),
        (Study { ranks: vec![1, 1_000_001], ..study() }, "--ranks 1000001: expected 1 to 1000000"),
        (Study { ranks: vec![0], ..study() }, "--ranks 0: expected"),
        (Study { threads: vec![65537], ..study() }, "--threads 65537: expected 1 to 65536"),
        (Study { device: "cpu\ntouch x".into(), ..study() }, "--device `cpu\\ntouch x`: expected text without"),
        (Study { flags: vec!["--report".into(), "\u{1b}[2J".into()], ..study() }, "flags of minifenl `\\u{1b}[2J`"),
    ] {
        assert!(refused(study.clone()).contains(words), "{study:?}: {}", refused(study.clone()));
        // Such a description is refused where it is read, too, and never written.
        let folder = tempfile::tempdir().unwrap();
        assert!(study.clone().resume(folder.path()).is_err() && !folder.path().join("study.json").exists());
        std::fs::write(folder.path().join("study.json"), serde_json::to_string(&study).unwrap()).unwrap();
        let error = Study::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("study.json: not a study: ") && error.contains("expected"), "{error}");
    }
    assert!(Study { threads: vec![65536], repeats: 50_000, ..study() }.check().is_ok(), "limits are within limits");
    // Two that are within limits may have too many runs together.
    let folder = tempfile::tempdir().unwrap();
    Study { ranks: (1..=300).collect(), threads: vec![1], nodes: [80; 3], repeats: 1, ..study() }
        .resume(folder.path())
        .unwrap();
    let many = Study { ranks: vec![1], threads: vec![1], nodes: [80; 3], repeats: 400, ..study() };
    assert!(many.resume(folder.path()).unwrap_err().to_string().contains("120000 runs"));
    assert_eq!(Study::read(folder.path()).unwrap().unwrap().repeats, 1);
}

#[test]
fn a_flag_has_the_value_that_is_given_last() {
    let flags = ["--size=1,1,1", "--size-x", "3", "--size", "2,2,2", "--problem=heat"].map(String::from).to_vec();
    let study = Study { flags, ..study() };
    assert_eq!(["--size", "--problem", "--element"].map(|flag| study.given(flag)), [Some("2,2,2"), Some("heat"), None]);
}

#[test]
fn files_that_flags_name_are_those_of_the_study_too() {
    let flags = ["--input", "a.toml", "--vtk=b.vtu", "--append", "c.csv", "--report=d.json"].map(String::from).to_vec();
    let named = Study { flags, ..study() }.files(Path::new("out"));
    let of_flags: Vec<_> = named.iter().filter(|(name, _)| name.starts_with("--")).collect();
    let expected = [("--input", "a.toml"), ("--append", "c.csv"), ("--vtk", "b.vtu")];
    assert_eq!(of_flags.len(), expected.len(), "{of_flags:?}");
    assert!(
        of_flags.iter().zip(expected).all(|((name, path), of)| (&**name, path.as_path()) == (of.0, Path::new(of.1)))
    );
    assert!(named.contains(&("study.json of the study".into(), Path::new("out/study.json").into())), "{named:?}");
}

#[test]
fn a_study_grows_and_refuses_other_settings() {
    let folder = tempfile::tempdir().unwrap();
    study().resume(folder.path()).unwrap();
    let more = Study { ranks: vec![4], repeats: 1, ..study() }.resume(folder.path()).unwrap();
    assert_eq!((more.ranks.as_slice(), more.repeats), (&[1, 2, 4][..], 2));
    assert_eq!(Study::read(folder.path()).unwrap(), Some(more));
    let error = Study { nodes: [9; 3], ..study() }.resume(folder.path()).unwrap_err().to_string();
    assert!(error.contains("other settings (weak scaling, 8x8x8 nodes per rank, device cpu)"), "{error}");
    std::fs::write(folder.path().join("study.json"), "{}").unwrap();
    assert!(study().resume(folder.path()).unwrap_err().to_string().contains("not a study"));
}
