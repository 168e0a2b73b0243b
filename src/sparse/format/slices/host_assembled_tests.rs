//! Values that are put where assembly adds them, against the matrix in CRS.

use super::host_places::{NO_PLACE, RowPlaces};
use super::host_slices::HostSlices;
use super::host_tests::{matrices, product, whole};
use crate::space::Threads;
use crate::sparse::Operator;

#[test]
fn every_stored_entry_has_a_place_of_its_own_and_the_others_that_of_their_partner() {
    for (name, a) in matrices(whole) {
        let graph = a.graph();
        let x: Vec<f64> = (0..graph.columns()).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        let expected = product(&a, &x);
        for (threads, symmetric) in [(1, false), (3, false), (1, true), (3, true)] {
            let space = Threads::new(threads).unwrap();
            let mut direct = HostSlices::<f64>::new(&space, graph, symmetric).unwrap();
            let places = direct.places(&space).unwrap();
            let (rows, values) = direct.parts_mut(&places);
            assert_eq!(rows.values(), values.len());
            let mut without = 0;
            for row in 0..graph.rows() {
                for (position, entry) in graph.row_range(row).enumerate() {
                    let place = match rows.row(row) {
                        RowPlaces::Shifted { first, skip, shift } => {
                            position.checked_sub(skip).map(|place| first + (place << shift))
                        }
                        RowPlaces::Listed { first, places, shift } => {
                            let place = places[position];
                            (place != NO_PLACE).then(|| first + (usize::from(place) << shift))
                        }
                    };
                    match place {
                        Some(place) => {
                            assert_eq!(values[place], 0.0, "{name}: two entries in one place, row {row}");
                            values[place] = a.values()[entry];
                        }
                        None => without += 1,
                    }
                }
            }
            assert!(symmetric || without == 0, "{name}");
            let (rows, values) = direct.parts(&places);
            for row in 0..graph.rows() {
                for (position, entry) in graph.row_range(row).enumerate() {
                    assert_eq!(values[rows.value(row, position)], a.values()[entry], "{name}: row {row}, {position}");
                }
            }
            let mut y = vec![f64::NAN; graph.rows()];
            direct.apply(&space, &mut x.clone(), &mut y).unwrap();
            assert_eq!(y, expected, "{name}, {threads} threads");
        }
    }
}
