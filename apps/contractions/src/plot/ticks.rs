//! Numbers along a logarithmic axis: powers of ten, or finer ones where few of them are in sight.

use std::ops::Range;

/// Numbers with a label, and those with a thin line alone.
#[derive(Debug)]
pub struct Ticks {
    pub labels: Vec<f64>,
    pub lines: Vec<f64>,
}

/// Fewer labels tell nothing of a scale.
const FEW: usize = 3;

/// 1, 10, 100; else 1, 2, 5, 10; else, within less than a decade, even steps.
pub fn tens(range: &Range<f64>) -> Ticks {
    let [labels, finer] = [&[1.0][..], &[1.0, 2.0, 5.0]].map(|mantissas| at(mantissas, range));
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

/// Two to five of them, 1, 2 or 5 times a power of ten apart.
fn even(range: &Range<f64>) -> Ticks {
    let least = (range.end - range.start) / 5.0;
    let power = least.log10().floor() as i32;
    let mantissa =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|mantissa| decimal(*mantissa, power) >= least).unwrap_or(10.0);
    let every = |mantissa: f64| {
        let step = decimal(mantissa, power);
        let (first, last) = ((range.start / step).ceil() as u64, (range.end / step).floor() as u64);
        (first..=last).map(|i| decimal(i as f64 * mantissa, power)).collect()
    };
    Ticks { labels: every(mantissa), lines: every(mantissa / 2.0) }
}

#[test]
fn every_range_has_labels() {
    let labels = |low, high| tens(&(low..high)).labels;
    assert_eq!(labels(0.3, 5000.0), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(labels(0.3, 25.0), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
    assert_eq!(labels(1.5, 2.2), [1.6, 1.8, 2.0, 2.2]);
    assert_eq!(labels(0.0021, 0.0035), [0.0025, 0.003, 0.0035]);
    assert_eq!(labels(5.5, 49.0), [10.0, 20.0, 30.0, 40.0]);
    // A figure's range is 1.44 times its least number at least.
    for i in 0..10_000 {
        let low = 1e-4 * 1.003f64.powi(i);
        for factor in [1.44, 2.0, 5.0, 9.0, 20.0, 300.0] {
            let ticks = tens(&(low..low * factor));
            let count = ticks.labels.len();
            assert!((2..=8).contains(&count) && ticks.lines.len() >= count, "{low} x {factor}: {ticks:?}");
            // And what is printed tells them apart.
            let mut words: Vec<String> = ticks.labels.iter().map(|label| super::names::plain(*label)).collect();
            words.dedup();
            assert_eq!(words.len(), count, "{words:?}");
        }
    }
}
