//! Axes: where a number lies between the ends of an axis, and which numbers have labels and grid lines.

use std::ops::Range;

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Logarithmic, labels at 1, 10, 100 or finer.
    Tens,
    /// Logarithmic, labels at powers of two; at powers of ten if the numbers span a factor of 600 or more.
    Twos,
    /// Linear from 0.
    Linear,
}

/// Numbers with a label, and those with a thin line alone.
#[derive(Debug)]
pub(crate) struct Ticks {
    pub labels: Vec<f64>,
    pub lines: Vec<f64>,
}

/// One axis: its kind and its range.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    is_log: bool,
    is_binary: bool,
    range: Range<f64>,
}

/// Fewer labels tell nothing about a scale.
const FEW: usize = 3;
/// Most labels of powers along an axis.
const MOST: usize = 11;

/// Largest number of an axis, and one over the least of a logarithmic one: between them powers of ten and their products are finite.
const LARGEST: f64 = 1e150;

impl Kind {
    /// Returns whether an axis has a place for a number. Infinite, negative and huge numbers have none.
    pub(crate) fn shows(self, x: f64) -> bool {
        let least = if self == Kind::Linear { 0.0 } else { 1.0 / LARGEST };
        (least..=LARGEST).contains(&x)
    }
}

impl Scale {
    /// A little more than all of the numbers, which the axis shows.
    pub fn new(kind: Kind, numbers: impl Iterator<Item = f64>) -> Self {
        let (low, high) = numbers.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let is_log = kind != Kind::Linear;
        let range = if is_log { low / 1.2..high * 1.2 } else { 0.0..high.max(1e-12) * 1.08 };
        Scale { is_log, is_binary: kind == Kind::Twos && high < 600.0 * low, range }
    }

    /// 0 at the low end, 1 at the high end.
    pub fn place(&self, x: f64) -> f64 {
        let Range { start, end } = self.range;
        if self.is_log { (x / start).ln() / (end / start).ln() } else { (x - start) / (end - start) }
    }

    /// Numbers with labels and lines.
    pub fn ticks(&self) -> Ticks {
        match (self.is_log, self.is_binary) {
            (false, _) => even(&self.range),
            (true, true) => twos(&self.range),
            (true, false) => tens(&self.range),
        }
    }
}

/// Powers of two, every n-th so that there are at most eleven; finer ones where fewer than two are in sight.
fn twos(range: &Range<f64>) -> Ticks {
    let [first, last] = [range.start.log2().ceil() as i32, range.end.log2().floor() as i32];
    if last <= first {
        return tens(range);
    }
    let every = ((last - first) as usize).div_ceil(MOST - 1).max(1);
    let powers = |every: usize| (first..=last).step_by(every).map(|power| 2f64.powi(power)).collect();
    Ticks { labels: powers(every), lines: powers(1) }
}

/// 1, 10, 100; else 1, 2, 5, 10; else, within less than a decade, even steps.
fn tens(range: &Range<f64>) -> Ticks {
    let [labels, finer] = [&[1.0][..], &[1.0, 2.0, 5.0]].map(|mantissas| at(mantissas, range));
    if labels.len() > MOST {
        let every = labels.len().div_ceil(MOST);
        return Ticks { labels: labels.iter().copied().step_by(every).collect(), lines: labels };
    }
    let lines = at(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], range);
    if labels.len() >= FEW {
        return Ticks { labels, lines };
    }
    if finer.len() >= FEW {
        return Ticks { labels: finer, lines };
    }
    even(range)
}

/// Mantissas times all powers of ten.
fn at(mantissas: &[f64], range: &Range<f64>) -> Vec<f64> {
    let [low, high] = [range.start, range.end].map(|end| end.log10().floor() as i32);
    let all = (low..=high).flat_map(|power| mantissas.iter().map(move |mantissa| decimal(*mantissa, power)));
    all.filter(|number| (range.start..=range.end).contains(number)).collect()
}

/// By division where the power is negative, so that 0.3 is 0.3.
fn decimal(mantissa: f64, power: i32) -> f64 {
    if power < 0 { mantissa / 10f64.powi(-power) } else { mantissa * 10f64.powi(power) }
}

/// Two to six of them, 1, 2, 2.5 or 5 times a power of ten apart.
fn even(range: &Range<f64>) -> Ticks {
    let least = (range.end - range.start) / 5.0;
    let power = least.log10().floor() as i32;
    let mantissa =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|mantissa| decimal(*mantissa, power) >= least).unwrap_or(10.0);
    let every = |mantissa: f64| {
        let step = decimal(mantissa, power);
        let (first, last) = ((range.start / step).ceil() as u64, (range.end / step).floor() as u64);
        (first..=last).map(|i| decimal(i as f64 * mantissa, power)).collect()
    };
    Ticks { labels: every(mantissa), lines: every(mantissa / 2.0) }
}

/// A number without a row of zeros; powers of ten from 10^4 on and up to 10^-4 as such.
pub fn plain(value: f64) -> String {
    let size = value.abs();
    let power = size.log10();
    if (size >= 1e4 || (size < 1e-3 && size > 0.0)) && (power - power.round()).abs() < 1e-9 {
        let raised = |digit: char| match digit {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
        };
        return format!("10{}", format!("{power:.0}").chars().map(raised).collect::<String>());
    }
    match size {
        size if size >= 1e7 || (size < 1e-3 && size > 0.0) => {
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        size if size >= 10.0 => format!("{value:.0}"),
        _ => format!("{}", (value * 1e5).round() / 1e5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_has_labels() {
        let labels = |low, high| tens(&(low..high)).labels;
        assert_eq!(labels(0.3, 5000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(labels(0.3, 25.0), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(labels(1.5, 2.2), [1.6, 1.8, 2.0, 2.2]);
        assert_eq!(labels(0.0021, 0.0035), [0.0025, 0.003, 0.0035]);
        assert_eq!(labels(5.5, 49.0), [10.0, 20.0, 30.0, 40.0]);
        assert_eq!(labels(1e-12, 1e12).len(), 9);
        // A figure's range is 1.44 times its least number at least.
        for i in 0..10_000 {
            let low = 1e-4 * 1.003f64.powi(i);
            for factor in [1.44, 2.0, 5.0, 9.0, 20.0, 300.0] {
                for ticks in [tens(&(low..low * factor)), twos(&(low..low * factor))] {
                    let count = ticks.labels.len();
                    assert!((2..=MOST).contains(&count) && ticks.lines.len() >= count, "{low} x {factor}: {ticks:?}");
                    // And what is printed tells them apart.
                    let mut words: Vec<String> = ticks.labels.iter().map(|label| plain(*label)).collect();
                    words.dedup();
                    assert_eq!(words.len(), count, "{words:?}");
                }
            }
        }
    }

    #[test]
    fn ticks_and_places_equal_those_by_hand() {
        let scale = |kind, numbers: &[f64]| Scale::new(kind, numbers.iter().copied());
        assert_eq!(scale(Kind::Twos, &[1.0, 8.0]).ticks().labels, [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(scale(Kind::Twos, &[1.0, 512.0]).ticks().labels.len(), 10);
        assert_eq!(twos(&(1.0..4096.0)).labels, [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0]);
        assert_eq!(scale(Kind::Twos, &[1.0, 1e5]).ticks().labels, [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(scale(Kind::Linear, &[1.0]).ticks().labels, [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(scale(Kind::Linear, &[10.0]).ticks().labels, [0.0, 2.5, 5.0, 7.5, 10.0]);
        let log = scale(Kind::Tens, &[1.0, 100.0]);
        assert!((log.place(10.0) - 0.5).abs() < 1e-12 && log.place(0.9) > 0.0 && log.place(0.5) < 0.0);
        assert!((scale(Kind::Linear, &[2.0]).place(1.08) - 0.5).abs() < 1e-12);
        // A figure without numbers has axes.
        assert!(scale(Kind::Tens, &[]).ticks().labels.len() > 1);
    }

    #[test]
    fn axes_show_what_has_a_place_and_every_range_ends() {
        let shown = |kind: Kind| [0.0, -1.0, 1e-150, 1e150, 1e151, f64::INFINITY, f64::NAN].map(|x| kind.shows(x));
        assert_eq!(shown(Kind::Linear), [true, false, true, true, false, false, false]);
        assert_eq!(shown(Kind::Tens), [false, false, true, true, false, false, false]);
        for kind in [Kind::Tens, Kind::Twos, Kind::Linear] {
            for low in [1e-150, 1e-12, 1.0, 1e149] {
                for high in [low, 3.0 * low, 1e150] {
                    let ticks = Scale::new(kind, [low, high].into_iter()).ticks();
                    assert!((2..=MOST).contains(&ticks.labels.len()), "{kind:?} {low} to {high}: {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn labels_are_short() {
        let found = [1e6, 1e-4, 1e4, 1e3, 2e5, 65536.0, 0.3, 2.5e-4, 1.25e-3, 2e7, 1e12].map(plain);
        assert_eq!(found, ["10⁶", "10⁻⁴", "10⁴", "1000", "200000", "65536", "0.3", "2.5e-4", "0.00125", "2e7", "10¹²"]);
    }
}
