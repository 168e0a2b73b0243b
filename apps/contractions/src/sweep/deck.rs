//! Decks of sweeps: groups of cases, each the product of its lists, and the figures that are drawn of them.

use super::case::{Case, Order, Precision};
use minifenl::{Error, Result};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::str::FromStr;

/// A figure of the clinic report: what is measured for it and how it is drawn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepDeck {
    /// File name of what is written, without its ending.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What is measured.
    pub sweep: Vec<Group>,
    /// What is drawn.
    #[serde(default)]
    pub plot: Vec<Plot>,
}

/// A product of lists.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Names of the nine.
    pub kernels: Vec<String>,
    /// Names of a GPU's variants; `*` stands for any letters. The host's and all peers are run too, named or not.
    pub variants: Vec<String>,
    /// `f32`, `f64`.
    pub precisions: Vec<String>,
    /// `left`, `right`: of a GPU's variants.
    pub layouts: Vec<String>,
    /// Of the host's variants; without any, nothing is run on the host.
    #[serde(default = "right")]
    pub host_layouts: Vec<String>,
    /// L and R.
    #[serde(default = "one_pair", deserialize_with = "pairs")]
    pub fields: Vec<[usize; 2]>,
    /// P.
    pub points: Vec<usize>,
    /// D1 and D2.
    #[serde(default = "one_pair", deserialize_with = "pairs")]
    pub dims: Vec<[usize; 2]>,
    /// MiB of left, right and output together.
    pub memory_mib: Vec<f64>,
}

/// A figure: a picture for each precision.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Ending of its file name.
    pub name: String,
    /// `heat`: contraction size by memory size, a panel for each variant and layout; `lines`: by `x`, a line for each variant.
    /// Cases that differ in other sizes than the axes' have panels or lines of their own.
    pub kind: String,
    /// Names of variants that a sweep measures, with `*`.
    pub variants: Vec<String>,
    /// Speedup over this variant in the same layout, or in the host's; without it, which only lines can be, the time in ms.
    pub over: Option<String>,
    /// `terms` (contraction size), `memory`, `cells`, of lines.
    #[serde(default = "terms")]
    pub x: String,
    /// Only cases of this memory size.
    pub memory_mib: Option<f64>,
    /// A line for people.
    pub title: String,
}

/// Memory of a quick run's cases.
const QUICK_MIB: [f64; 2] = [0.0625, 0.125];
/// Largest memory of a case whose single cell already exceeds that size.
const MOST_QUICK_BYTES: usize = 64 << 20;

/// A title for a quick run, in which the memory sizes of the full run are replaced.
fn in_quick(title: &str, sizes: &[f64], size: &str) -> String {
    let mut title = title.to_string();
    for mib in sizes {
        for (number, unit) in [(mib / 1024.0, "GiB"), (*mib, "MiB")] {
            for words in [format!("{number} {unit}"), format!("{number}{unit}")] {
                title = replace_words(&title, &words, size);
            }
        }
    }
    format!("{title} (quick run)")
}

/// Replaces words where they do not end a longer number: no `1 GiB` in `11 GiB`.
fn replace_words(text: &str, words: &str, by: &str) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(words) {
        let (before, after) = (&rest[..at], &rest[at + words.len()..]);
        let is_whole = !before.ends_with(|c: char| c.is_ascii_digit() || c == '.');
        replaced += before;
        replaced += if is_whole { by } else { words };
        rest = after;
    }
    replaced + rest
}

fn right() -> Vec<String> {
    vec!["right".into()]
}

fn one_pair() -> Vec<[usize; 2]> {
    vec![[1, 1]]
}

fn terms() -> String {
    "terms".into()
}

/// An array would pass over a third number.
fn pairs<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<[usize; 2]>, D::Error> {
    let pair = |numbers: Vec<usize>| {
        numbers.try_into().map_err(|numbers: Vec<usize>| D::Error::custom(format!("{numbers:?} is not two numbers")))
    };
    Vec::deserialize(from)?.into_iter().map(pair).collect()
}

/// Names by those that the choices have, each once.
pub fn parse<T: FromStr<Err = Error> + PartialEq>(names: &[String]) -> Result<Vec<T>> {
    let mut parsed = Vec::new();
    for name in names {
        let one = name.parse()?;
        if !parsed.contains(&one) {
            parsed.push(one);
        }
    }
    Ok(parsed)
}

impl SweepDeck {
    /// The deck as a test has it: the fewest and the most points, of each at most 64, on 64 and 128 KiB. Titles say so, also where
    /// they named the memory of the full run.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one cell of a case is too large for a quick run.
    pub fn quick(mut self) -> Result<Self> {
        let sizes: Vec<f64> = self.sweep.iter().flat_map(|group| group.memory_mib.iter().copied()).collect();
        for (i, group) in self.sweep.iter_mut().enumerate() {
            let ends = [group.points.iter().min(), group.points.iter().max()];
            group.points = ends.into_iter().flatten().map(|&points| points.min(64)).collect();
            group.points.dedup();
            group.memory_mib = QUICK_MIB.to_vec();
            let cases =
                Precision::ALL.iter().map(|(precision, _)| group.cases(*precision)).collect::<Result<Vec<_>>>()?;
            if let Some((case, _)) = cases.iter().flatten().find(|(case, _)| case.bytes() > MOST_QUICK_BYTES) {
                return Err(Error::Invalid(format!(
                    "sweep {}: one cell of {} with fields {:?}, {} points and dims {:?} has {} MiB: too large for --quick, which \
                     takes {} MiB at most",
                    i + 1,
                    case.kernel,
                    case.fields,
                    case.points,
                    case.dims,
                    case.bytes() >> 20,
                    MOST_QUICK_BYTES >> 20
                )));
            }
        }
        let both = format!("{} and {} MiB", QUICK_MIB[0], QUICK_MIB[1]);
        for plot in &mut self.plot {
            let is_one = plot.memory_mib.is_some();
            plot.memory_mib = plot.memory_mib.map(|_| QUICK_MIB[1]);
            let size = if is_one { format!("{} MiB", QUICK_MIB[1]) } else { both.clone() };
            plot.title = in_quick(&plot.title, &sizes, &size);
        }
        self.title = in_quick(&self.title, &sizes, &both);
        Ok(self)
    }

    /// Whether [`quick`](Self::quick) measures such a memory size.
    pub fn is_quick(memory_mib: f64) -> bool {
        QUICK_MIB.contains(&memory_mib)
    }
}

impl Group {
    /// Every case once, by kernel, memory, fields, dims and points; `data_data` has no fields to differ in.
    ///
    /// # Errors
    /// [`Error::Invalid`] for names that nobody has.
    pub fn cases(&self, precision: Precision) -> Result<Vec<(Case, f64)>> {
        let mut cases = Vec::new();
        if !parse::<Precision>(&self.precisions)?.contains(&precision) {
            return Ok(cases);
        }
        for kernel in parse(&self.kernels)? {
            for &mib in &self.memory_mib {
                let bytes = (mib * 1048576.0) as usize;
                for &fields in &self.fields {
                    for &dims in &self.dims {
                        for &points in &self.points {
                            let next = (Case::filling(kernel, precision, fields, points, dims, bytes), mib);
                            if !cases.contains(&next) {
                                cases.push(next);
                            }
                        }
                    }
                }
            }
        }
        Ok(cases)
    }

    /// Of a GPU's variants.
    ///
    /// # Errors
    /// [`Error::Invalid`] for names that nobody has.
    pub fn orders(&self) -> Result<Vec<Order>> {
        parse(&self.layouts)
    }

    /// Of the host's.
    ///
    /// # Errors
    /// [`Error::Invalid`] for names that nobody has.
    pub fn host_orders(&self) -> Result<Vec<Order>> {
        parse(&self.host_layouts)
    }
}

/// Whether a name fits a pattern, in which `*` stands for any letters.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|name| (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..]))),
    }
}

#[test]
fn patterns_match_as_by_hand() {
    for (pattern, name, expected) in
        [("*", "", true), ("tiling-*", "tiling-8", true), ("*-8", "tiling-16", false), ("a", "ab", false)]
    {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn cases_come_once_and_quick_ones_are_of_both_ends() {
    let text = "name = 'x'\ntitle = ''\n[[sweep]]\nkernels = ['field_field_scalar', 'data_data_scalar']\nvariants = []\n\
        precisions = ['f64', 'f64']\nlayouts = ['left', 'left']\nfields = [[4, 4], [8, 8]]\npoints = [64, 8, 512]\n\
        memory_mib = [1, 1]\n";
    let deck = SweepDeck::parse(text, &super::NoPeers).unwrap();
    let count = |deck: &SweepDeck| deck.sweep[0].cases(Precision::F64).unwrap().len();
    assert_eq!((count(&deck), deck.sweep[0].orders().unwrap().len()), (9, 1));
    let quick = deck.quick().unwrap();
    assert_eq!((&quick.sweep[0].points[..], count(&quick)), (&[8, 64][..], 12));
}
