//! Checks of a device against the mathematics, for people on a new machine: `minifenl verify`.
//!
//! | section | what is computed | what is expected |
//! |---|---|---|
//! | stages | every operation and strategy | the result of one thread of the host |
//! | patch tests | the residual of linear fields on distorted elements | 0 (Irons and Loikkanen 1983) |
//! | orders | errors in L2 and H1 on two meshes, per element type and map | degree + 1 and degree |
//! | solvers | the solution by each preconditioner and method | that of plain CG, of GMRES with advection |
//! | Newton | norms of three residuals | each about the square of the one before |

mod alone;
mod orders;
mod patch;
mod solvers;
mod stages;

use super::deck::Chosen;
use super::{Deck, Job};
use crate::comm::Solo;
use crate::element::ElementType;
use crate::mesh::CoordinateMap;
use crate::space::{Threads, allowed_cores};
use crate::{Error, Result};

/// The outcome of one check.
#[derive(Debug)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// What was found: a relative difference, an order, or the error.
    pub found: Result<f64>,
    /// What was expected: 0 for a difference.
    pub expected: f64,
    /// How far both may be apart.
    pub bound: f64,
    /// Whether a space may refuse the choice that is checked.
    pub is_optional: bool,
}

impl Check {
    /// Whether the number is within the bound; never for a NaN.
    pub fn passed(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| (found - self.expected).abs() <= self.bound)
    }

    /// Whether the space refuses this choice by name, which it may.
    pub fn skipped(&self) -> bool {
        self.is_optional && matches!(self.found, Err(Error::Invalid(_)))
    }
}

/// Largest departure of an order from the expected one, relative.
const ORDER: f64 = 0.05;
/// Largest residual of a linear field, relative to that of a rough one.
const PATCH: f64 = 1e-12;

/// Runs the checks on the deck's device, with its threads and preset. `heading` is told what computes; `seen` is called after each check.
///
/// # Errors
/// A device that cannot be used; [`Error::OutOfMemory`] where memory is short for a check, which is named.
pub fn verify(deck: &Deck, heading: &mut dyn FnMut(&str), seen: &mut dyn FnMut(&Check)) -> Result<()> {
    match deck.run.device.choose(&Solo, false)? {
        #[cfg(feature = "cuda")]
        Chosen::Cuda(ordinal) => run(&crate::space::Cuda::new(ordinal)?, deck, heading, seen),
        Chosen::Cpu { notice } => {
            notice.iter().for_each(|notice| heading(notice));
            let threads = deck.run.threads.unwrap_or_else(allowed_cores);
            run(&Threads::new(threads)?, deck, heading, seen)
        }
    }
}

fn run<S: Job>(space: &S, deck: &Deck, heading: &mut dyn FnMut(&str), seen: &mut dyn FnMut(&Check)) -> Result<()> {
    heading(&format!("stages on {}: largest difference from one thread of the host, relative", space.label()));
    let mut seen = |name: String, found: Result<f64>, expected, bound, is_optional| {
        if let Err(Error::OutOfMemory { wanted, free, .. }) = found {
            let what = format!("the check `{name}`");
            return Err(Error::OutOfMemory { rank: None, stage: None, what, wanted, free });
        }
        seen(&Check { name, found, expected, bound, is_optional });
        Ok(())
    };
    stages::check(space, &mut |name, bound, found| seen(name, found, 0.0, bound, true))?;
    heading("patch tests: residual of linear fields on twisted elements, relative");
    for (element, _) in ElementType::volumes() {
        for kind in patch::PROBLEMS {
            let found = patch::residual(space, deck, element, kind);
            seen(format!("{kind} on {element}"), found, 0.0, PATCH, false)?;
        }
    }
    heading("orders: poisson, errors on two meshes");
    for (element, _) in ElementType::volumes() {
        for map in [CoordinateMap::None, CoordinateMap::BUBBLE, CoordinateMap::TWIST] {
            let found = orders::of_errors(space, deck, element, map);
            let degree = element.degree() as f64;
            for (norm, at, expected) in [("L2", 0, degree + 1.0), ("H1", 1, degree)] {
                let found = found.clone().map(|orders| orders[at]);
                seen(format!("{element}, {map}, {norm}"), found, expected, ORDER * expected, false)?;
            }
        }
    }
    heading("solvers: largest difference from the solution by CG, with advection by GMRES");
    for (name, found) in solvers::differences(space, deck)? {
        seen(name, found, 0.0, solvers::BOUND, false)?;
    }
    heading("Newton: order of the residuals, heat on twisted elements");
    seen("heat on hex8".into(), orders::of_newton(space, deck), 2.0, 0.2, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Device;

    #[test]
    fn threads_pass_and_the_bound_decides() {
        let mut deck = Deck::default();
        (deck.run.device, deck.run.threads) = (Device::Cpu, Some(3));
        let (mut headings, mut names) = (Vec::new(), Vec::new());
        verify(&deck, &mut |text| headings.push(text.to_string()), &mut |check| {
            assert!(check.passed(), "{check:?}");
            names.push(check.name.clone());
        })
        .unwrap();
        assert!(headings.len() == 5 && headings[0].contains("threads(3)"), "{headings:?}");
        assert_eq!(names.len(), 26 + 14 + 42 + 9 + 1);
        assert!(names.iter().any(|name| name == "elasticity on hex8, matrix-free"), "{names:?}");
        deck.run.threads = Some(0);
        assert!(verify(&deck, &mut |_| (), &mut |_| ()).is_err());
        let check = |found| Check { name: String::new(), found, expected: 2.0, bound: 1.0, is_optional: true };
        assert!(!check(Ok(f64::NAN)).passed() && check(Ok(1.0)).passed() && check(Ok(3.0)).passed());
        assert!(!check(Ok(3.5)).passed() && !check(Ok(0.5)).passed() && !check(Ok(-9.0)).passed());
        let refused = Check { is_optional: false, ..check(Err(Error::Invalid(String::new()))) };
        assert!(!refused.skipped() && !refused.passed());
        assert!(check(Err(Error::Invalid(String::new()))).skipped() && !check(Ok(2.0)).skipped());
    }
}
