//! The clinic report's claims, each with the query that answers it.
//!
//! A claim is about ratios in one table: time of the fastest of `over` / time of the fastest of `variant`, one for each case
//! that has both in one layout (what ran on the host stands for either layout of a GPU). It is held against a criterion, once a
//! layout; [`RULE`] says when it holds.

use super::case::Order;
use super::deck::fits;
use super::table::{Row, Table};
use super::validate::at_line;
use minifenl::Result;
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
    /// The table that answers, by its name without `.csv`.
    pub table: String,
    /// Kernel, by name.
    pub kernel: String,
    /// Variants, with `*`: the fastest counts.
    pub variant: Vec<String>,
    /// What they are compared with: the fastest counts.
    pub over: Vec<String>,
    /// Which of the ratios the claim is about.
    #[serde(default)]
    pub of: Of,
    /// Holds from here ...
    #[serde(default)]
    pub low: f64,
    /// ... to here.
    #[serde(default = "endless")]
    pub high: f64,
    /// Part of the ratios that must be in this range, of claims about each.
    #[serde(default = "nearly_all")]
    pub share: f64,
    /// If false, the ratios only stand in for what cannot be compared here; the remark says why.
    #[serde(default = "yes")]
    pub comparable: bool,
    /// Only these L = R.
    pub fields: Option<usize>,
    /// Only contraction sizes (P times dimensions) from, to.
    pub terms: Option<[usize; 2]>,
    /// Only memory sizes in MiB from, to.
    pub memory_mib: Option<[f64; 2]>,
    /// Only this precision; the report's is f32.
    #[serde(default = "single")]
    pub precision: String,
    /// Why it does not hold, in a sentence, where it does not.
    #[serde(default)]
    pub remark: String,
}

/// Which ratios a claim is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// All of them.
    #[default]
    Each,
    /// The one in the middle.
    Median,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// How the verdict comes about.
pub const RULE: &str = "\
A ratio is the time of the fastest of the variants on the right of `over` divided by that of the fastest on its left, so above 1
the left one is faster: one ratio for each case that has both in the same table and layout, in f32 as in the report; what ran on
the host stands for either layout of the GPU. `cases` counts them, `min`, `median` and `max` are of them, `in range` is the part
of them that the criterion's range holds. A claim about the largest, the smallest or the median holds (`yes`) if that number is
in the range, else not (`no`). A claim about each holds if as many are in the range as the criterion asks for; `no` is at most
10 %, and `mixed` otherwise.
";

fn endless() -> f64 {
    f64::INFINITY
}

fn nearly_all() -> f64 {
    0.9
}

fn yes() -> bool {
    true
}

fn single() -> String {
    "f32".into()
}

impl Claims {
    /// Reads claims from their text.
    ///
    /// # Errors
    /// [`Error::Invalid`](minifenl::Error::Invalid) with the line.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| at_line(&error, text))
    }

    /// Claimed beside measured, a line a claim and layout, as a table in markdown. Tables go by their names.
    pub fn markdown(&self, tables: &[(String, Table)]) -> String {
        let mut text = format!(
            "{RULE}\n| source | the report says | compared here | criterion | layout | cases | min | median | max | in range | holds \
             | remark |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        );
        for claim in &self.claim {
            let table = tables.iter().find(|(name, _)| *name == claim.table).map(|(_, table)| table);
            let (source, says, compared) = (&claim.source, &claim.text, claim.compared());
            let mut start = format!("| {source} | {says} | {compared} | {} ", claim.criterion());
            let (mut remark, before) = (&*claim.remark, text.len());
            for (order, name) in Order::ALL {
                let ratios = table.map_or(Vec::new(), |table| claim.ratios(table, order));
                let [Some(min), Some(max)] = [ratios.first(), ratios.last()] else { continue };
                let (median, verdict) = (median(&ratios), claim.verdict(&ratios));
                let because = if verdict == "yes" { "" } else { std::mem::take(&mut remark) };
                let share = match claim.comparable {
                    true => format!("{:.0} %", 100.0 * claim.share_in_range(&ratios)),
                    false => String::new(),
                };
                text += &format!(
                    "{start}| {name} | {} | {min:.2} | {median:.2} | {max:.2} | {share} | {verdict} | {because} |\n",
                    ratios.len()
                );
                start = "| | | | ".into();
            }
            if text.len() == before {
                text += &format!("{start}| | 0 | | | | | not measured | |\n");
            }
        }
        text
    }
}

impl Claim {
    /// Both sides of the ratio and the cases that it is taken of.
    fn compared(&self) -> String {
        let names = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut text = format!("{} over {}, {}", names(&self.variant), names(&self.over), self.table);
        if let Some([from, to]) = self.terms {
            text += &if from == to { format!(", K = {from}") } else { format!(", K = {from} to {to}") };
        }
        if let Some([from, to]) = self.memory_mib {
            text += &if from == to { format!(", {from} MiB") } else { format!(", {from} to {to} MiB") };
        }
        text
    }

    fn criterion(&self) -> String {
        let range = match (self.low > 0.0, self.high.is_finite()) {
            (true, true) => format!("{} to {}", self.low, self.high),
            (true, false) => format!("at least {}", self.low),
            (false, true) => format!("at most {}", self.high),
            (false, false) => "any".into(),
        };
        match self.of {
            _ if !self.comparable => "none".into(),
            Of::Each if self.share >= 1.0 => format!("each {range}"),
            Of::Each => format!("{:.0} % of them {range}", 100.0 * self.share),
            Of::Median => format!("median {range}"),
            Of::Min => format!("smallest {range}"),
            Of::Max => format!("largest {range}"),
        }
    }

    fn is_about(&self, row: &Row) -> bool {
        let case = &row.case;
        case.kernel.to_string() == self.kernel
            && case.precision.to_string() == self.precision
            && self.fields.is_none_or(|fields| case.fields == [fields; 2])
            && self.terms.is_none_or(|[from, to]| (from..=to).contains(&case.terms()))
            && self.memory_mib.is_none_or(|[from, to]| (from..=to).contains(&row.memory_mib))
    }

    /// One for each case of a layout, in rising order.
    fn ratios(&self, table: &Table, order: Order) -> Vec<f64> {
        let mut best = HashMap::new();
        for row in table.rows.iter().filter(|row| self.is_about(row)) {
            let Some((seconds, _)) = row.timing else { continue };
            let times: &mut [f64; 2] = best.entry(row.case).or_insert([f64::INFINITY; 2]);
            let is_here = [row.order == order, row.order == order || !row.device.starts_with("cuda")];
            for (side, patterns) in [&self.variant, &self.over].into_iter().enumerate() {
                if is_here[side] && patterns.iter().any(|pattern| fits(pattern, &row.variant)) {
                    times[side] = times[side].min(seconds);
                }
            }
        }
        let both = best.values().filter(|times| times.iter().all(|time| time.is_finite()));
        let mut ratios: Vec<f64> = both.map(|[own, other]| other / own).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    fn share_in_range(&self, ratios: &[f64]) -> f64 {
        let inside = ratios.iter().filter(|ratio| (self.low..=self.high).contains(*ratio)).count();
        inside as f64 / ratios.len() as f64
    }

    /// By [`RULE`], of at least one ratio.
    fn verdict(&self, ratios: &[f64]) -> &'static str {
        let share = match self.of {
            Of::Each => self.share_in_range(ratios),
            Of::Median => self.share_in_range(&[median(ratios)]),
            Of::Min => self.share_in_range(&ratios[..1]),
            Of::Max => self.share_in_range(&ratios[ratios.len() - 1..]),
        };
        match share {
            _ if !self.comparable => "not comparable",
            share if share >= self.share => "yes",
            share if share <= 0.1 => "no",
            _ => "mixed",
        }
    }
}

/// Of numbers in rising order, one at least.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::super::case::{Case, Kernel, Precision};
    use super::*;
    use minifenl::space::Layout;

    fn row(mib: usize, variant: &str, layout: Layout, seconds: f64) -> Row {
        Row {
            case: Case::filling(Kernel::FieldFieldScalar, Precision::F32, [8, 8], 8, [1, 1], mib << 20),
            variant: variant.into(),
            order: Order(layout),
            memory_mib: mib as f64,
            timing: Some((seconds, 1)),
            roofline: None,
            device: if variant == "loops" { "serial" } else { "cuda:0 (x)" }.into(),
            checked: String::new(),
        }
    }

    /// The cells after the criterion of each line of claims about `variant` over `over`.
    fn lines(tables: &[(String, Table)], claims: &[&str]) -> Vec<String> {
        let head = "[[claim]]\nsource = 'a'\ntext = 'b'\ntable = 't'\nkernel = 'field_field_scalar'\nremark = 'why'\n";
        let text: String = claims.iter().map(|claim| format!("{head}{claim}\n")).collect();
        let text = Claims::parse(&text).unwrap().markdown(tables);
        let cells = |line: &str| line.split('|').skip(4).map(str::trim).collect::<Vec<_>>().join("|");
        text.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells).collect()
    }

    #[test]
    fn claims_are_judged_as_by_hand() {
        use Layout::{Left, Right};
        let rows = vec![
            row(1, "loops", Right, 6.0),
            row(1, "flat", Left, 2.0),
            row(1, "flat", Right, 12.0),
            row(1, "tile8", Left, 4.0),
            row(1, "tile16", Left, 3.0),
            row(2, "loops", Right, 6.0),
            row(2, "flat", Left, 12.0),
        ];
        let table = |rows| Table { rows, ..Table::default() };
        // What another table has is not mixed in.
        let other = table(vec![row(1, "flat", Left, 1e-9)]);
        let tables = [("t".to_string(), table(rows)), ("u".to_string(), other)];
        let flat = "variant = ['flat']\nover = ['loops']\n";
        for (claim, expected) in [
            ("of = 'max'\nlow = 2.0\nhigh = 4.0", "largest 2 to 4|left|2|0.50|1.75|3.00|50 %|yes||"),
            ("of = 'min'\nlow = 1.0", "smallest at least 1|left|2|0.50|1.75|3.00|50 %|no|why|"),
            ("of = 'median'\nhigh = 2.0", "median at most 2|left|2|0.50|1.75|3.00|50 %|yes||"),
            ("low = 1.0\nshare = 1.0", "each at least 1|left|2|0.50|1.75|3.00|50 %|mixed|why|"),
            ("low = 1.0\nshare = 0.5", "50 % of them at least 1|left|2|0.50|1.75|3.00|50 %|yes||"),
            ("comparable = false", "none|left|2|0.50|1.75|3.00||not comparable|why|"),
        ] {
            let lines = lines(&tables, &[&format!("{flat}{claim}")]);
            assert_eq!(lines[0], expected);
            assert!(lines[1].starts_with("|right|1|0.50|"), "{lines:?}");
        }
        let tiles = "variant = ['tile*']\nover = ['flat', 'loops']\nhigh = 1.0";
        assert_eq!(lines(&tables, &[tiles]), ["90 % of them at most 1|left|1|0.67|0.67|0.67|100 %|yes||"]);
        assert_eq!(lines(&tables[1..], &[tiles]), ["90 % of them at most 1||0|||||not measured||"]);
        assert!(Claims::parse("claim = [{}]").is_err());
    }
}
