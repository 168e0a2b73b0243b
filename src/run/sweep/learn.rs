//! What `Variant::Auto` learns from tables of sweeps: `src/contraction/auto.csv`.

use super::table::{CHECKED, Row, Table, dims};
use crate::contraction::Variant;
use std::fmt::Write;

/// How many times the fastest a variant may take to be kept: what is near may be the only one that applies.
const NEAR: f64 = 1.25;

/// Of each case and layout on a GPU the fastest variants, and the fastest of those that add in the order of the terms.
pub fn learned(table: &Table) -> String {
    let mut text = String::from("kernel,variant,layout,precision,L,R,P,D,cells,median_ms\n");
    let mut rows: Vec<(&Row, Variant, f64)> = Vec::new();
    for row in table.rows.iter().filter(|row| row.checked == CHECKED && row.device.starts_with("cuda")) {
        let variant = row.variant.parse::<Variant>().ok().filter(|variant| !variant.is_auto());
        rows.extend(variant.zip(row.timing).map(|(variant, (seconds, _))| (row, variant, seconds)));
    }
    let mut groups: Vec<Vec<(&Row, Variant, f64)>> = Vec::new();
    let mut place = std::collections::HashMap::new();
    for found in rows {
        let at = *place.entry((found.0.case, found.0.order)).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(found);
    }
    for group in &mut groups {
        group.sort_by(|a, b| a.2.total_cmp(&b.2));
        let first = |is_ordered: bool| group.iter().find(|(_, variant, _)| !is_ordered || variant.keeps_order());
        let [best, ordered] = [false, true].map(|is_ordered| first(is_ordered).map_or(0.0, |found| NEAR * found.2));
        for (row, variant, seconds) in group.iter() {
            if *seconds <= best || (variant.keeps_order() && *seconds <= ordered) {
                let (case, ms) = (&row.case, 1e3 * seconds);
                let [l, r] = case.fields;
                let (precision, d) = (case.precision, dims(case));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "{},{variant},{},{precision},{l},{r},{},{d},{},{ms:.5}",
                    case.kernel, row.order, case.points, case.cells,
                );
            }
        }
    }
    text
}

#[test]
fn near_ones_and_ordered_ones_are_kept() {
    use super::case::{Case, Kernel, Order, Precision};
    let case = Case::filling(Kernel::FieldFieldVector, Precision::F64, [8, 8], 8, [3, 1], 1 << 20);
    let row = |variant: &str, ms: f64, device: &str| Row {
        case,
        variant: variant.into(),
        order: Order(crate::space::Layout::Right),
        memory_mib: 1.0,
        timing: Some((1e-3 * ms, 5)),
        roofline: None,
        device: device.into(),
        checked: CHECKED.into(),
    };
    let rows = vec![
        row("flat", 9.0, "cuda:0 (x)"),
        row("fixed-staged", 4.0, "cuda:0 (x)"),
        row("dmma", 1.0, "cuda:0 (x)"),
        row("fixed-split", 1.2, "cuda:0 (x)"),
        row("fixed-rows", 1.3, "cuda:0 (x)"),
        row("auto", 0.5, "cuda:0 (x)"),
        row("cublas-gemm", 0.5, "cuda:0 (x)"),
        row("serial", 0.5, "serial"),
    ];
    let text = learned(&Table { rows, ceilings: Vec::new() });
    let variants: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(variants, ["dmma", "fixed-split", "fixed-staged"], "{text}");
    assert_eq!(text.lines().nth(1), Some("field_field_vector,dmma,right,f64,8,8,8,3,292,1.00000"));
}
