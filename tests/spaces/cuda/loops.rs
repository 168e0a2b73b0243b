//! Loops with functions of a user on a GPU against `Serial`.

use super::functions::{Centroid, Doubled, Gather, Kept, Line, Listed, Sum};
use super::{difference, gpu, wave};
use crate::text::{teams, tiles};
use minifenl::space::{ExecutionSpace, Loops, Serial, Team};

const LENGTHS: [usize; 7] = [0, 1, 2047, 2048, 2049, 100_003, 5_000_011];

#[test]
fn functions_of_items_give_the_numbers_of_the_host() {
    let Some(space) = gpu("functions_of_items_give_the_numbers_of_the_host") else { return };
    for n in LENGTHS {
        let (x, y) = (wave(n + 3, 0.7), wave(n + 3, 1.3));
        let on_device = (space.upload(&x).unwrap(), space.upload(&y).unwrap());
        let (mut a, mut b) = (space.upload(&vec![7.0; n + 3]).unwrap(), space.upload(&vec![7.0; n + 3]).unwrap());
        let line = Line { a: 0.25 };
        space.for_items(n, &line, [&on_device.0, &on_device.1], [&mut a, &mut b]).unwrap();
        let (mut expected_a, mut expected_b) = (vec![7.0; n + 3], vec![7.0; n + 3]);
        Serial.for_items(n, &line, [&x, &y], [&mut expected_a, &mut expected_b]).unwrap();
        assert!(difference(&space.download(&a).unwrap(), &expected_a) < 1e-15, "{n}");
        assert_eq!(space.download(&b).unwrap(), expected_b, "{n}");
        let refused = space.for_items(n + 4, &line, [&on_device.0, &on_device.1], [&mut a, &mut b]);
        assert!(refused.unwrap_err().to_string().contains("`inputs`"));
    }
}

#[test]
fn reductions_and_scans_keep_the_order() {
    let Some(space) = gpu("reductions_and_scans_keep_the_order") else { return };
    for n in LENGTHS {
        // Nine of ten are 0.
        let x: Vec<f64> = (0..n).map(|i| if (i * 7) % 10 == 3 { i as f64 + 0.5 } else { 0.0 }).collect();
        let (on_device, mut out) = (space.upload(&x).unwrap(), space.upload(&vec![7.0; n + 3]).unwrap());
        let mut expected = vec![7.0; n + 3];
        assert_eq!(
            space.reduce_items(n, &Kept {}, [&on_device]).unwrap(),
            Serial.reduce_items(n, &Kept {}, [&x]).unwrap()
        );
        space.scan_items(n, &Kept {}, [&on_device], &mut out).unwrap();
        Serial.scan_items(n, &Kept {}, [&x], &mut expected).unwrap();
        assert!(space.download(&out).unwrap() == expected, "{n}");
        let (found, sum) =
            (space.reduce_items(n, &Sum {}, [&on_device]).unwrap(), Serial.reduce_items(n, &Sum {}, [&x]).unwrap());
        assert!((found - sum).abs() <= 1e-13 * sum, "{n}: {found} {sum}");
        // Twice: the first leaves the counter of blocks at 0.
        let mut there = space.upload(&[7.0; 2]).unwrap();
        for _ in 0..2 {
            space.reduce_into(n, &Sum {}, [&on_device], &mut there).unwrap();
        }
        assert_eq!(space.download(&there).unwrap(), [found, 7.0]);
        space.reduce_into(n, &Kept {}, [&on_device], &mut there).unwrap();
        assert_eq!(space.download(&there).unwrap()[0], Serial.reduce_items(n, &Kept {}, [&x]).unwrap(), "{n}");
        space.scan_items(n, &Sum {}, [&on_device], &mut out).unwrap();
        Serial.scan_items(n, &Sum {}, [&x], &mut expected).unwrap();
        assert!(difference(&space.download(&out).unwrap(), &expected) < 1e-13, "{n}");
        let masses = vec![0.5; n];
        let found = space.reduce_items(n, &Centroid {}, [&on_device, &space.upload(&masses).unwrap()]).unwrap();
        let expected = Serial.reduce_items(n, &Centroid {}, [&x, &masses]).unwrap();
        for (found, expected) in found.point.into_iter().zip(expected.point) {
            assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{n}: {found} {expected}");
        }
        assert_eq!(found.mass, expected.mass);
    }
}

#[test]
fn indices_read_anywhere_and_add_to_cells() {
    let Some(space) = gpu("indices_read_anywhere_and_add_to_cells") else { return };
    // Millions of threads that exchange one cell take minutes.
    for n in LENGTHS.into_iter().filter(|&n| n < 1_000_000) {
        // Multiples of 1/2 below 2^20 add up without rounding.
        let x: Vec<f64> = (0..n).map(|i| (i % 64) as f64 + 0.5).collect();
        let list: Vec<u32> = (0..n as u32).rev().collect();
        let (mut sums, mut out) = (vec![0.5; n + 2], vec![7.0; n + 1]);
        let (mut sums_there, mut out_there) = (space.upload(&sums).unwrap(), space.upload(&out).unwrap());
        let (x_there, list_there) = (space.upload(&x).unwrap(), space.upload(&list).unwrap());
        let gather = Gather { factor: 2.0 };
        space.for_indices(n, &gather, [&x_there], [&list_there], [&mut sums_there, &mut out_there]).unwrap();
        Serial.for_indices(n, &gather, [&x], [&list], [&mut sums, &mut out]).unwrap();
        assert!(space.download(&sums_there).unwrap() == sums && space.download(&out_there).unwrap() == out, "{n}");
        space.for_indices(n, &Doubled {}, [], [], [&mut out_there]).unwrap();
        Serial.for_indices(n, &Doubled {}, [], [], [&mut out]).unwrap();
        let pairs: Vec<u32> = list.iter().flat_map(|&i| [i, n as u32 - i]).collect();
        let (mut counts, mut rows) = (vec![9u32; n + 1], vec![9u32; 2 * n + 1]);
        let (mut counts_there, mut rows_there) = (space.upload(&counts).unwrap(), space.upload(&rows).unwrap());
        let (pairs_there, listed) = (space.upload(&pairs).unwrap(), Listed { limit: n as f64 / 2.0 });
        space.for_indices(n, &listed, [], [&pairs_there], [&mut counts_there, &mut rows_there]).unwrap();
        Serial.for_indices(n, &listed, [], [&pairs], [&mut counts, &mut rows]).unwrap();
        assert!(space.download(&out_there).unwrap() == out && space.download(&counts_there).unwrap() == counts, "{n}");
        assert_eq!(space.download(&rows_there).unwrap(), rows, "{n}");
    }
}

#[test]
fn teams_join_the_values_of_ranges() {
    let Some(space) = gpu("teams_join_the_values_of_ranges") else { return };
    for n in LENGTHS.into_iter().filter(|&n| n < 1_000_000) {
        let x = teams::numbers(n);
        let (x_there, bounds) = (space.upload(&x).unwrap(), space.upload(&teams::bounds(n)).unwrap());
        for (team, _) in Team::ALL {
            let mut out = space.upload(&vec![7.0; 3 * n + 1]).unwrap();
            space.for_teams(n, team, &teams::EXTENT, [&x_there], [&bounds], [&mut out]).unwrap();
            let mut out = space.download(&out).unwrap();
            assert_eq!(out.pop(), Some(7.0));
            assert!(out == teams::expected(&x), "{n}, teams of {team}");
        }
    }
}

#[test]
fn teams_step_through_their_scratch() {
    let Some(space) = gpu("teams_step_through_their_scratch") else { return };
    let x = space.upload(&tiles::numbers()).unwrap();
    for teams in [0, 1, 37, 1000] {
        let phases = space.upload(&tiles::phases(teams)).unwrap();
        let mut out = space.upload(&vec![7.0; 256 * teams + 1]).unwrap();
        space.for_tiles(teams, &tiles::WEIGHTED, [&x], [&phases], [&mut out]).unwrap();
        let mut out = space.download(&out).unwrap();
        assert_eq!(out.pop(), Some(7.0));
        assert!(out == tiles::expected(teams), "{teams}");
    }
}
