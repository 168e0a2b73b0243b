//! The study of strategies for people, at most 80 columns wide.

use super::{Compared, Promise, StrategyStudy};
use crate::error::count;
use crate::run::report::columns;

const LEGEND: &str = "\
ms          median of the rounds, slowest rank; a product without its exchange
speed       times faster than the papers' strategy (preset papers), which is 1
run MiB     forecast for a run with it, else with the papers' choices, all ranks
difference  graph: entries that differ from the first; fill: largest difference
            from the first, product: from sums by row, relative to the largest
bits        integers: equal; fixed: same bits on any threads; any order: not so
unsafe      scatter with plain additions in place of atomic ones, which threads
            take from each other: what atomics cost (Hoemmen and Edwards 2014)
";

impl StrategyStudy {
    /// The study as text. The last line begins with PASS or FAIL.
    pub fn table(&self) -> String {
        let [x, y, z] = self.edges;
        let mut text = format!(
            "minifenl {}: all strategies on one mesh, {} each\n\
             problem     {}\n\
             mesh        {x} x {y} x {z} = {}, {}, map {}\n\
             parallel    {} x {} on {}\n",
            self.version,
            count(self.rounds, "round"),
            self.problem,
            count(self.nodes, "node"),
            count(self.elements, "element"),
            self.map,
            count(self.ranks, "rank"),
            count(self.threads, "thread"),
            self.device,
        );
        for step in ["graph", "fill", "product"] {
            let rows = self.strategies.iter().filter(|strategy| strategy.step == step).map(line);
            text += &format!("\n{}", columns(&[step, "ms", "speed", "run MiB", "difference", "bits"], rows));
        }
        let wrong: Vec<String> = self
            .strategies
            .iter()
            .filter(|strategy| !strategy.is_good())
            .map(|strategy| format!("{} {}", strategy.step, strategy.name))
            .collect();
        let verdict = match wrong.first() {
            None => format!("PASS: results agree to {:.0e}, graphs bit for bit", super::study::TOLERANCE),
            Some(first) => format!("FAIL: {first} ({} in all) differs, or its bits do", wrong.len()),
        };
        format!("{text}\n{LEGEND}{verdict}\n")
    }
}

fn line(strategy: &Compared) -> Vec<String> {
    let name = format!("{}{}", strategy.name, if strategy.is_papers { " (papers)" } else { "" });
    let Some(seconds) = strategy.median_seconds else {
        let none = || "-".to_string();
        return vec![name, none(), none(), none(), none(), "not on this device".into()];
    };
    let bits = match (strategy.promise, strategy.is_repeatable) {
        (Promise::Nothing, _) if !strategy.is_right() => "wrong result",
        (Promise::AnyOrder | Promise::Nothing, _) => "any order",
        (_, Some(false)) => "BROKEN",
        (Promise::Identical, _) => "integers",
        (Promise::SameBits, _) => "fixed",
    };
    vec![
        name,
        format!("{:.3}", 1e3 * seconds),
        strategy.speedup.map_or("-".into(), |speedup| format!("{speedup:.2}")),
        format!("{:.1}", strategy.run_bytes as f64 / f64::from(1 << 20)),
        strategy.difference.map_or("-".into(), |difference| match strategy.promise {
            Promise::Identical => format!("{difference}"),
            _ => format!("{difference:.1e}"),
        }),
        bits.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_broken_only_if_it_breaks_its_promise() {
        let bits = |promise, is_repeatable| {
            let measured = Compared { median_seconds: Some(1.0), difference: Some(0.0), ..Compared::default() };
            line(&Compared { promise, is_repeatable: Some(is_repeatable), ..measured }).pop()
        };
        for (promise, of_others, of_equals) in [
            (Promise::Nothing, "any order", "any order"),
            (Promise::AnyOrder, "any order", "any order"),
            (Promise::SameBits, "BROKEN", "fixed"),
            (Promise::Identical, "BROKEN", "integers"),
        ] {
            let found = [false, true].map(|is_repeatable| bits(promise, is_repeatable));
            assert_eq!(found, [Some(of_others.into()), Some(of_equals.into())], "{promise:?}");
        }
    }
}
