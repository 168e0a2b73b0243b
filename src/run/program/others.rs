//! Hardware threads used by other programs during a run, from `/proc/stat`.

use crate::comm::{Communicator, core_list};
use std::fs::read_to_string;
use std::time::Instant;

/// Ticks of a second in `/proc`; fixed on Linux.
const TICKS: f64 = 100.0;
/// Counters advance in ticks: a shorter run, in seconds, tells nothing.
const SHORTEST: f64 = 0.1;

/// The counters before a run.
#[derive(Clone, Debug)]
pub struct Others {
    busy: f64,
    own: f64,
    start: Instant,
    /// The cores that are counted; all where `None`.
    cores: Option<Vec<usize>>,
}

/// Ticks in which some program ran on these cores, of lines `cpuN user nice system idle iowait irq softirq steal ...`; of all cores, the
/// line `cpu`. Time stolen by other virtual machines counts.
fn busy(stat: &str, cores: Option<&[usize]>) -> Option<f64> {
    let ticks_of = |line: &str| {
        let words = line.split_whitespace().skip(1).take(8).map(|word| word.parse::<f64>().ok());
        let ticks: Vec<f64> = words.collect::<Option<_>>()?;
        (ticks.len() == 8).then(|| ticks.iter().sum::<f64>() - ticks[3] - ticks[4])
    };
    let name = |line: &str| line.split_whitespace().next().unwrap_or("").to_string();
    let Some(cores) = cores else { return ticks_of(stat.lines().find(|line| name(line) == "cpu")?) };
    let is_counted =
        |line: &&str| name(line).strip_prefix("cpu").and_then(|n| n.parse().ok()).is_some_and(|n| cores.contains(&n));
    let counted: Vec<f64> = stat.lines().filter(is_counted).map(ticks_of).collect::<Option<_>>()?;
    (counted.len() == cores.len()).then(|| counted.iter().sum())
}

/// Ticks of this program and of its children that have ended, from `/proc/self/stat`: fields 14 to 17.
fn own(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may have spaces.
    let rest = stat.rsplit_once(')')?.1;
    let ticks = rest.split_whitespace().skip(11).take(4).map(|word| word.parse::<f64>().ok());
    ticks.sum()
}

/// The cores that a thread may use, as `/proc/.../status` has them: `0-2,7`.
pub(in crate::run) fn allowed(status: &str) -> Option<&str> {
    Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
}

impl Others {
    /// Reads the counters of all cores; `None` on systems without them.
    pub fn start() -> Option<Self> {
        Self::read(None)
    }

    /// Reads the counters of the cores that this process may use. In a container, others are not its machine.
    pub fn on_allowed_cores() -> Option<Self> {
        Self::read(Some(core_list(allowed(&read_to_string("/proc/self/status").ok()?)?)?))
    }

    fn read(cores: Option<Vec<usize>>) -> Option<Self> {
        let busy = busy(&read_to_string("/proc/stat").ok()?, cores.as_deref())?;
        let own = own(&read_to_string("/proc/self/stat").ok()?)?;
        Some(Others { busy, own, start: Instant::now(), cores })
    }

    /// Returns the hardware threads that others kept busy since then, on average.
    pub fn used(&self) -> Option<f64> {
        let now = Self::read(self.cores.clone())?;
        self.threads(&now, now.own - self.own)
    }

    /// Returns the largest number of hardware threads that other programs used on a host. All ranks call it together;
    /// `before` are the counters of this rank.
    pub fn used_on_hosts(before: Option<&Self>, comm: &dyn Communicator) -> Option<f64> {
        let now = before.and_then(|before| Self::read(before.cores.clone()));
        let both = before.zip(now.as_ref());
        let own = comm.node_sum(both.map_or(0, |(before, now)| (now.own - before.own).max(0.0) as u64));
        let mut most = [both.and_then(|(before, now)| before.threads(now, own as f64)).unwrap_or(-1.0)];
        comm.all_max(&mut most);
        (most[0] >= 0.0).then_some(most[0])
    }

    fn threads(&self, now: &Self, own: f64) -> Option<f64> {
        let seconds = (now.start - self.start).as_secs_f64();
        (seconds > SHORTEST).then(|| ((now.busy - self.busy - own) / TICKS / seconds).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_equal_those_by_hand() {
        let stat = "cpu  10 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0\ncpu1 1 1 1 9 9 1 1 1\nintr 7\n";
        assert_eq!(
            (busy(stat, None), busy(stat, Some(&[0])), busy(stat, Some(&[0, 1]))),
            (Some(81.0), Some(27.0), Some(33.0))
        );
        assert_eq!((busy(stat, Some(&[2])), busy("cpu  10 20\n", None)), (None, None));
        assert_eq!(own("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), Some(127.0));
        let cores = |status| core_list(allowed(status)?);
        assert_eq!(cores("Name:\tx\nCpus_allowed_list:\t0-2,7\n"), Some(vec![0, 1, 2, 7]));
        assert_eq!((cores("Name:\tx\n"), cores("Cpus_allowed_list:\tx\n")), (None, None));
        let at = |busy, own, seconds| Others {
            busy,
            own,
            start: Instant::now() + std::time::Duration::from_secs(seconds),
            cores: None,
        };
        let (before, after) = (at(100.0, 10.0, 0), at(700.0, 110.0, 2));
        let found = before.threads(&after, 100.0).unwrap();
        assert!((found - 2.5).abs() < 1e-3, "{found}");
        assert_eq!(before.threads(&before, 0.0), None);
    }

    /// In 10 s the two ranks of a host took 900 ticks each of 2800, those of another host 500 each of 3000. Others took 1000 and 2000,
    /// that is 1 and 2 hardware threads.
    #[test]
    fn the_busiest_host_decides_and_ranks_of_it_are_no_others() {
        let Some(now) = Others::start() else { return };
        let found = crate::comm::ranks::on_hosts(0, [2, 2], |comm| {
            let [busy, own] = [[2800.0, 900.0], [3000.0, 500.0]][comm.rank() / 2];
            let before = Others {
                busy: now.busy - busy,
                own: now.own - own,
                start: now.start - std::time::Duration::from_secs(10),
                cores: None,
            };
            Others::used_on_hosts(Some(&before), comm).unwrap()
        });
        // The machine works on meanwhile.
        assert!(found.iter().all(|used| *used == found[0] && (1.6..2.3).contains(used)), "{found:?}");
    }

    #[test]
    fn a_child_of_this_program_is_not_another_program() {
        let Some(before) = Others::start() else { return };
        let child =
            std::process::Command::new("bash").args(["-c", "for i in {1..300000}; do :; done"]).status().unwrap();
        assert!(child.success());
        let now = Others::start().unwrap();
        assert!(now.own > before.own && now.busy >= before.busy, "{before:?} {now:?}");
    }
}
