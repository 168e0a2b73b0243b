//! Tuning tables of the contractions.

use minifenl::contraction::tuning::{Case, Key, cases, chosen_by, header};

/// Words of tuning tables.
pub const WORDS: &[&str] = &[
    "kernel,variant,layout,precision,L,R,P,D,cells,median_ms\n",
    "field_field_scalar",
    "data_field_vector",
    "data_data_tensor",
    "auto",
    "flat",
    "tile-8x8",
    "team1",
    "team2",
    "dmma",
    "left",
    "right",
    "f32",
    "f64",
    ",",
    "\n",
    "0",
    "1",
    "8",
    "3x2",
    "3x",
    "x",
    "18446744073709551615",
    "4294967296",
    "inf",
    "nan",
    "-1",
    "1e-320",
    "1e309",
    "#",
];

fn lines(cases: &[Case]) -> String {
    let mut text = header() + "\n";
    for case in cases {
        for &(variant, ms) in &case.times {
            text += &(case.key.line(variant, ms) + "\n");
        }
    }
    text
}

/// The cases of a table are written and read back; a choice exists for every case.
pub fn tuning(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let found = cases(text);
    for case in &found {
        assert!(!case.times.is_empty() && case.times.windows(2).all(|two| two[0].1 <= two[1].1), "{case:?}");
        assert!(case.times.iter().all(|(variant, ms)| *ms > 0.0 && !variant.is_auto()), "{case:?}");
        for is_ordered in [false, true] {
            assert!(!chosen_by(&found, &case.key, is_ordered).is_auto());
        }
    }
    // Times are written with five decimals, so that a shorter one becomes 0, which is no time.
    let kept: Vec<Case> = found.into_iter().filter(|case| case.times.iter().all(|time| time.1 > 1e-4)).collect();
    let again = cases(&lines(&kept));
    let keys = |cases: &[Case]| cases.iter().map(|case| case.key).collect::<Vec<Key>>();
    assert_eq!(keys(&again), keys(&kept));
    assert_eq!(lines(&cases(&lines(&again))), lines(&again));
    !keys(&kept).is_empty()
}
