//! The clinic report's claims in text, each with the question to the table that answers it.
//!
//! A claim is about a ratio: time of the best of `over` / time of the best of `variant`, one for each case that the table
//! has of both, and one number of those ratios. It agrees when the number is from `low` to `high`.

use super::deck::{at_line, fits};
use super::table::{Row, Table};
use crate::{Error, Result};
use serde::Deserialize;
use std::collections::HashMap;

/// All claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// In the order of the report.
    pub claim: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Where it stands in the report.
    pub source: String,
    /// What it says.
    pub text: String,
    /// The number or word that the report gives.
    pub claimed: String,
    /// Kernel, by name.
    pub kernel: String,
    /// Variants, with `*`: the fastest counts.
    pub variant: Vec<String>,
    /// What they are compared with: the fastest counts.
    pub over: Vec<String>,
    /// `max`, `min` or `median` of the ratios, or `share`: of the ratios, how many are above 1.
    pub number: String,
    /// Agrees from here ...
    #[serde(default)]
    pub low: f64,
    /// ... to here.
    #[serde(default = "endless")]
    pub high: f64,
    /// Only these L = R.
    pub fields: Option<usize>,
    /// Only contraction sizes (P times dimensions) from, to.
    pub terms: Option<[usize; 2]>,
    /// Only memory sizes in MiB from, to.
    pub memory_mib: Option<[f64; 2]>,
    /// Only this precision; the report's is f32.
    #[serde(default = "single")]
    pub precision: String,
    /// Why it does not agree, in a sentence, where it does not.
    #[serde(default)]
    pub remark: String,
}

fn endless() -> f64 {
    f64::INFINITY
}

fn single() -> String {
    "f32".into()
}

impl Claims {
    /// Reads claims from their text.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the line.
    pub fn parse(text: &str) -> Result<Self> {
        let claims: Claims = toml::from_str(text).map_err(|error| at_line(&error, text))?;
        match claims.claim.iter().find(|claim| !["max", "min", "median", "share"].contains(&&*claim.number)) {
            Some(claim) => Err(Error::Invalid(format!("claims: number {:?}: max, min, median or share", claim.number))),
            None => Ok(claims),
        }
    }

    /// Claimed beside measured, a line a claim, as a table in markdown.
    pub fn markdown(&self, table: &Table) -> String {
        let mut text =
            "| source | the report says | 2015 | measured | cases | agrees | remark |\n|---|---|---|---|---|---|---|\n"
                .to_string();
        for claim in &self.claim {
            let ratios = claim.ratios(table);
            let (measured, agrees) = match claim.measured(&ratios) {
                Some(value) if claim.number == "share" => (format!("{:.0} %", 100.0 * value), claim.agrees(value)),
                Some(value) => (format!("{value:.2}"), claim.agrees(value)),
                None => ("not measured".into(), "-"),
            };
            let remark = if agrees == "no" { &claim.remark } else { "" };
            let (source, says, claimed, cases) = (&claim.source, &claim.text, &claim.claimed, ratios.len());
            text += &format!("| {source} | {says} | {claimed} | {measured} | {cases} | {agrees} | {remark} |\n");
        }
        text
    }
}

impl Claim {
    fn is_about(&self, row: &Row) -> bool {
        let case = &row.case;
        case.kernel.to_string() == self.kernel
            && case.precision.to_string() == self.precision
            && self.fields.is_none_or(|fields| case.fields == [fields; 2])
            && self.terms.is_none_or(|[from, to]| (from..=to).contains(&case.terms()))
            && self.memory_mib.is_none_or(|[from, to]| (from..=to).contains(&row.memory_mib))
    }

    /// One for each case, in rising order.
    fn ratios(&self, table: &Table) -> Vec<f64> {
        let mut best = HashMap::new();
        for row in table.rows.iter().filter(|row| self.is_about(row)) {
            let Some((seconds, _)) = row.timing else { continue };
            let times: &mut [f64; 2] = best.entry(row.case).or_insert([f64::INFINITY; 2]);
            for (side, patterns) in [&self.variant, &self.over].into_iter().enumerate() {
                if patterns.iter().any(|pattern| fits(pattern, &row.variant)) {
                    times[side] = times[side].min(seconds);
                }
            }
        }
        let mut ratios: Vec<f64> =
            best.values().filter(|times| times.iter().all(|t| t.is_finite())).map(|[own, other]| other / own).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    fn measured(&self, ratios: &[f64]) -> Option<f64> {
        let last = ratios.len().checked_sub(1)?;
        Some(match &*self.number {
            "max" => ratios[last],
            "min" => ratios[0],
            "median" => ratios[ratios.len() / 2],
            _ => ratios.iter().filter(|ratio| **ratio > 1.0).count() as f64 / ratios.len() as f64,
        })
    }

    fn agrees(&self, value: f64) -> &'static str {
        if (self.low..=self.high).contains(&value) { "yes" } else { "no" }
    }
}

#[test]
fn a_claim_by_hand() {
    use super::case::{Case, Kernel, Order, Precision};
    let row = |bytes, variant: &str, seconds| Row {
        case: Case::filling(Kernel::FieldFieldScalar, Precision::F32, [8, 8], 8, [1, 1], bytes),
        variant: variant.into(),
        order: Order(crate::space::Layout::Left),
        memory_mib: bytes as f64 / 1048576.0,
        timing: Some((seconds, 1)),
        roofline: None,
        device: String::new(),
        checked: String::new(),
    };
    let rows = vec![
        row(1 << 20, "loops", 6.0),
        row(1 << 20, "flat", 2.0),
        row(1 << 20, "tiling-8", 1.5),
        row(1 << 20, "tiling-16", 1.0),
        row(1 << 21, "loops", 6.0),
        row(1 << 21, "flat", 12.0),
    ];
    let table = Table { rows, ceilings: Vec::new() };
    let claims = Claims::parse(
        "[[claim]]\nsource = 'a'\ntext = 'b'\nclaimed = '3'\nkernel = 'field_field_scalar'\nvariant = ['flat']\n\
         over = ['loops']\nnumber = 'max'\nlow = 2.0\n\
         [[claim]]\nsource = 'c'\ntext = 'd'\nclaimed = 'always'\nkernel = 'field_field_scalar'\n\
         variant = ['tiling-*']\nover = ['flat', 'loops']\nnumber = 'share'\nlow = 1.0\nremark = 'x'\n\
         [[claim]]\nsource = 'e'\ntext = 'f'\nclaimed = '1'\nkernel = 'field_field_scalar'\nvariant = ['flat']\n\
         over = ['loops']\nnumber = 'min'\nlow = 1.0\nremark = 'few cells'\n",
    )
    .unwrap();
    let text = claims.markdown(&table);
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(lines[0], "| a | b | 3 | 3.00 | 2 | yes |  |");
    assert_eq!(lines[1], "| c | d | always | 100 % | 1 | yes |  |");
    assert_eq!(lines[2], "| e | f | 1 | 0.50 | 2 | no | few cells |");
    assert!(Claims::parse("claim = [{}]").is_err());
}
