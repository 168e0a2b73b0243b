//! The rule of Auto, and choices by small tables.

use super::super::work::Terms;
use super::*;

fn work(family: Family, sizes: [usize; 3], terms: usize, side: Side, item: usize) -> Work {
    let strides = [[0, 0, if side == Side::Right { 1 } else { sizes[0] }]; 2];
    Work {
        family,
        sizes,
        contracted: [terms, 1, 1],
        terms: Terms { extents: [1, 1, terms], strides },
        item,
        alignment: 16,
        is_line: true,
        pairs: true,
        is_output_line: true,
        by_cells: side == Side::Left,
    }
}

fn ruled(work: &Work) -> Variant {
    rule(work, &RECORDED_ON, |variant| configure(work, variant, &RECORDED_ON).is_ok())
}

#[test]
fn many_cells_side_by_side_are_computed_in_tiles() {
    let choose = |sizes: [usize; 3]| {
        let family = if sizes[1] > 1 { Family::FieldField } else { Family::DataField };
        ruled(&work(family, sizes, 24, Side::Left, 8))
    };
    assert_eq!(choose([100_000, 8, 8]), Variant::FixedLanes);
    assert_eq!(choose([20_000, 8, 8]), Variant::Tile4x4);
    assert_eq!(choose([100, 8, 8]), Variant::Flat);
    assert_eq!(choose([100_000, 8, 3]), Variant::Tile4x4);
    assert_eq!(choose([100_000, 1, 8]), Variant::FixedLanes);
    assert_eq!(choose([100_000, 1, 1]), Variant::Flat);
    assert_eq!(tiled_warps(&work(Family::FieldField, [33, 9, 8], 24, Side::Left, 8), 8, 8), 4);
}

#[test]
fn terms_side_by_side_are_loaded_in_vectors() {
    let choose = |family, sizes, terms, item| ruled(&work(family, sizes, terms, Side::Right, item));
    assert_eq!(choose(Family::FieldField, [100_000, 8, 8], 24, 8), Variant::Dmma);
    assert_eq!(choose(Family::FieldField, [100_000, 8, 8], 24, 4), Variant::FixedSplit);
    assert_eq!(choose(Family::FieldField, [100_000, 10, 10], 24, 8), Variant::Dmma);
    assert_eq!(choose(Family::FieldField, [1000, 125, 125], 2048, 4), Variant::FixedBlocked);
    assert_eq!(choose(Family::FieldField, [1000, 125, 125], 2048, 8), Variant::DmmaBlocked);
    assert_eq!(choose(Family::DataData, [1_000_000, 1, 1], 72, 8), Variant::FixedRows);
    assert_eq!(choose(Family::DataData, [200, 1, 1], 72, 8), Variant::Teamstride32);
    assert_eq!(choose(Family::FieldField, [50, 8, 8], 8, 8), Variant::Flat);
}

const SMALL: &str = "# made by hand\n\
    kernel,variant,layout,precision,L,R,P,D,cells,median_ms,gb_per_s,gflop_per_s\n\
    field_field_vector,flat,left,f64,8,8,8,3,1000,2.0,1,1\n\
    field_field_vector,tile8,left,f64,8,8,8,3,1000,1.0,1,1\n\
    field_field_vector,dmma,left,f64,8,8,8,3,1000,0.9,1,1\n\
    field_field_vector,no-such,left,f64,8,8,8,3,1000,0.1,1,1\n\
    data_data_tensor,teamstride64,right,f32,1,1,8,3x3,1000,1.0,1,1\n";

#[test]
fn the_fastest_applicable_variant_of_the_nearest_case_is_chosen() {
    let cases = cases(SMALL);
    assert_eq!(cases.len(), 2);
    let near = |family, sizes, terms, side, item| {
        let work = work(family, sizes, terms, side, item);
        fastest(&work, &cases, false, |variant| configure(&work, variant, &RECORDED_ON).is_ok())
    };
    // Cells side by side: tensor cores do not apply.
    assert_eq!(near(Family::FieldField, [1100, 8, 8], 24, Side::Left, 8), Some(Variant::Tile8));
    assert_eq!(near(Family::FieldField, [1100, 8, 8], 24, Side::Left, 4), None);
    assert_eq!(near(Family::FieldField, [1100, 27, 27], 24, Side::Left, 8), None);
    assert_eq!(near(Family::DataData, [500, 1, 1], 72, Side::Right, 4), Some(Variant::Teamstride64));
}

/// team2 has one thread per point for a scalar and one per index after the points for a tensor, so times of one rank say nothing
/// about another.
#[test]
fn teams_of_other_ranks_are_no_lesson() {
    let cases = cases(
        "kernel,variant,layout,precision,L,R,P,D,cells,median_ms\n\
         data_data_scalar,team2,left,f32,1,1,9216,1,14,1.0\n\
         data_data_scalar,teamstride128,left,f32,1,1,9216,1,14,1.2\n\
         data_data_scalar,flat,left,f32,1,1,9216,1,14,9.0\n",
    );
    let choose = |rank, contracted| {
        let key = Key { family: Family::DataData, side: Side::Left, item: 4, sizes: [14, 1, 1], rank, contracted };
        by(&cases, &key.work(), &RECORDED_ON, false)
    };
    assert_eq!(choose(0, [8192, 1, 1]), Variant::Team2);
    assert_eq!(choose(2, [1024, 3, 3]), Variant::Teamstride128);
}

#[test]
fn every_row_of_the_table_is_read() {
    let (cases, mut checked) = (cases(TABLE), 0);
    for case in &cases {
        checked += case.times.len();
    }
    println!("auto: {checked} rows of {} cases checked", cases.len());
    let written = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
    assert_eq!(checked + 1, written, "auto.csv");
}
