//! The variants of CG on several ranks in one process: one solution, one count, and as many messages as the report says.

use super::tests::{Diagonal, TIGHT, difference};
use super::variant_tests::{solve, wave};
use super::*;
use crate::blas::Reductions;
use crate::solve::Identity;
use crate::space::{Serial, Threads};
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex};

/// A rank of several in one process, each with rows of its own and no ghosts.
struct Member {
    shared: Arc<(Barrier, Mutex<Vec<f64>>)>,
    messages: Cell<usize>,
}

impl Member {
    fn sum(&self, values: &mut [f64]) {
        self.messages.set(self.messages.get() + 1);
        let (barrier, total) = &*self.shared;
        let mut sums = total.lock().unwrap();
        sums.resize(values.len(), 0.0);
        sums.iter_mut().zip(&*values).for_each(|(sum, value)| *sum += value);
        drop(sums);
        barrier.wait();
        values.copy_from_slice(&total.lock().unwrap());
        if barrier.wait().is_leader() {
            total.lock().unwrap().clear();
        }
        barrier.wait();
    }
}

impl crate::blas::Collective<Threads> for Member {
    fn all_reduce(&self, _: &Threads, sums: &mut Reductions<Threads>, slots: Range<usize>) -> Result<()> {
        if !sums.is_stopped()? {
            self.sum(&mut sums.scalars[slots]);
        }
        Ok(())
    }

    fn is_recordable(&self) -> bool {
        true
    }

    /// No rank fails.
    fn agree(&self, own: Result<()>) -> Result<()> {
        own
    }
}

#[test]
fn ranks_give_the_solution_of_one_and_count_their_messages() {
    // Rank k has the second difference of 40 + 9 k points.
    for (variant, name) in CgVariant::ALL {
        for (ranks, preconditioned) in [(1, false), (2, false), (4, false), (3, true)] {
            let shared = Arc::new((Barrier::new(ranks), Mutex::new(Vec::new())));
            let solved: Vec<(SolveInfo, usize)> = std::thread::scope(|scope| {
                let rank = |rank: usize| {
                    let shared = shared.clone();
                    scope.spawn(move || {
                        let n = 40 + 9 * rank;
                        let (a, b) = (difference(n, 2.02), wave(n, 0.3 + rank as f64));
                        let comm = Member { shared, messages: Cell::new(0) };
                        let mut work = CgWorkspace::of_variant(&Serial, n, n, variant).unwrap();
                        let mut x = vec![0.0; n];
                        let solution = |x: &[f64]| {
                            let alone = solve(&Serial, CgVariant::Classic, &a, Identity, &b, TIGHT).1;
                            assert!(
                                x.iter().zip(&alone).all(|(x, y)| (x - y).abs() < 1e-8),
                                "{name}, rank {rank} of {ranks}"
                            );
                        };
                        let observe = &mut |_, _| Ok(());
                        let info = if preconditioned {
                            let preconditioner = &mut Diagonal((0..n).map(|i| 2.02 + (i % 3) as f64).collect());
                            let mut system = LinearSystem { operator: &a, preconditioner, comm: &comm, rhs: &b[..] };
                            cg(&Serial, &mut system, &mut x, TIGHT, &mut work, observe)
                        } else {
                            let mut system =
                                LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &comm, rhs: &b[..] };
                            cg(&Serial, &mut system, &mut x, TIGHT, &mut work, observe)
                        };
                        solution(&x);
                        (info.unwrap(), comm.messages.get())
                    })
                };
                (0..ranks).map(rank).collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let (info, messages) = solved[0];
            assert!(solved.iter().all(|other| *other == (info, messages)), "{name}: {solved:?}");
            assert_eq!(info.reductions, messages, "{name}, {ranks} ranks: {info:?}");
            // ||b||, the first sums, and up to three for each of two replacements; one per refresh.
            let (iterations, most) = (info.iterations, 2 + 6 + info.iterations / 64);
            match variant {
                CgVariant::Classic => assert!(messages >= 2 * iterations + 2, "{info:?}"),
                _ => assert!((iterations + 3..=iterations + most).contains(&messages), "{name}: {info:?}"),
            }
        }
    }
}
