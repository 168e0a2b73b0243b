//! Runs: ranks, threads and lists agree, energy stays, and what cannot go well is refused.

use super::thread_ranks::on_ranks;
use super::{args, gpu, states};
use crate::alone::alone;
use crate::run::{check_memory, run};
use minifenl::Error;
use minifenl::comm::{Communicator, Solo};
use minifenl::space::{Cuda, Serial, Threads};

fn check_equal(found: &[[f64; 4]], expected: &[[f64; 4]], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)), "{what}: {a:?} {b:?}");
    }
}

const WORDS: [&str; 7] = ["-n", "4", "--steps", "50", "--thermo", "10", "--lists"];

#[test]
fn ranks_threads_and_lists_give_the_same_states() {
    let expected = states(&Serial, &Solo, &[&WORDS[..], &["half"]].concat()).unwrap();
    assert_eq!(expected.iter().map(|state| state[0]).collect::<Vec<_>>(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
    for lists in ["half", "full"] {
        let words = [&WORDS[..], &[lists]].concat();
        check_equal(&states(&Threads::new(3).unwrap(), &Solo, &words).unwrap(), &expected, lists);
        check_equal(&states(&Serial, &Solo, &[&words[..], &["--sort", "no"]].concat()).unwrap(), &expected, lists);
        for ranks in [2, 4, 6] {
            for found in on_ranks(ranks, |comm| states(&Serial, comm, &words).unwrap()) {
                check_equal(&found, &expected, &format!("{lists}, {ranks} ranks"));
            }
        }
    }
}

#[test]
fn a_gpu_gives_the_states_of_the_host() {
    let Some(space) = gpu("a_gpu_gives_the_states_of_the_host") else { return };
    let expected = states(&Serial, &Solo, &[&WORDS[..], &["half"]].concat()).unwrap();
    for lists in ["half", "full"] {
        check_equal(&states(&space, &Solo, &[&WORDS[..], &[lists]].concat()).unwrap(), &expected, lists);
    }
}

#[test]
fn energy_stays() {
    let args = args(&["-n", "4", "--steps", "400", "--thermo", "50", "--rebuild", "10"]);
    let report = run(&Serial, &Solo, &args, &mut |_| Ok(())).unwrap();
    // Forces end at the cutoff with a step of 0.04, which pairs cross.
    let totals = || report.states.iter().map(|line| line.state.total(args.atoms()));
    let (least, most) = (totals().fold(f64::MAX, f64::min), totals().fold(f64::MIN, f64::max));
    assert!(most - least < 0.02 && least < -4.0, "{least} to {most}");
    assert!(report.energy_drift.abs() <= most - least && report.atom_steps_per_second > 0.0);
}

#[test]
fn what_cannot_go_well_is_refused_in_one_line() {
    let refused = |words: &[&str]| states(&Serial, &Solo, words).unwrap_err().to_string();
    for (words, expected) in [
        (&["-n", "1"][..], "the box is 1.680 long: expected at least cutoff plus skin, 2.8"),
        (&["-n", "4x4x1"], "the box is 1.680 long"),
        (&["-n", "3", "--cutoff", "5"], "the box is 5.039 long: expected at least cutoff plus skin, 5.3"),
        (&["-n", "3", "--cutoff", "1e-6", "--skin", "1e-6"], "bins on a rank, the limit is 1073741823 bins"),
        (&["-n", "32", "--density", "1e-6"], "bins on a rank, the limit is 1073741823 bins"),
        (&["-n", "3", "--dt", "1"], "atoms are lost, the first at ("),
        (&["-n", "3", "--dt", "5"], "step 0: T = 1.440e0, atoms move 1.0e1 a step: the time step is too long"),
        (&["-n", "3", "--dt", "1", "--thermo", "5"], "a step: the time step is too long"),
    ] {
        let found = refused(words);
        assert!(found.contains(expected) && !found.contains('\n'), "{words:?}: {found}");
    }
    // Of 60 ranks some have none of 32 atoms.
    let ends = on_ranks(60, |comm| states(&Serial, comm, &["-n", "2"]).unwrap_err());
    let told: Vec<String> =
        ends.iter().filter(|end| !matches!(end, Error::Elsewhere { .. })).map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("of 60: expected fewer ranks or more --cells"), "{told:?}");
}

/// A host holds all; a GPU lists, vectors and bounds, and its host the first vectors.
#[test]
fn atoms_and_bins_beyond_free_memory_are_refused() {
    let mib = |[space, host]: [u64; 2]| [space << 20, host << 20];
    let on_host = |bins, is_half, free| check_memory::<Threads>(1 << 20, bins, is_half, mib([free; 2]));
    let large = on_host(1 << 10, true, 500).unwrap_err().to_string();
    assert_eq!(large, "1048576 atoms in 1024 bins: memory needs 538 MiB, the limit is 500 MiB free");
    assert!(on_host(0, true, 538).is_ok() && on_host(0, false, 538).is_err());
    assert!(on_host(1 << 20, true, 562).is_ok() && on_host(1 << 20, true, 561).is_err());
    let on_gpu = |free| check_memory::<Cuda>(1 << 20, 1 << 20, true, mib(free)).map_err(|error| error.to_string());
    assert_eq!(on_gpu([512, 50]), Ok(()));
    assert!(on_gpu([511, 1000]).unwrap_err().contains("GPU memory needs 512 MiB, the limit is 511 MiB free"));
    assert!(on_gpu([1000, 49]).unwrap_err().contains(": memory needs 50 MiB, the limit is 49 MiB free"));
}

/// Ranks of threads panic where one leaves another in a collective operation.
#[test]
fn output_that_one_rank_cannot_write_ends_all_ranks() {
    for last in [0, 1] {
        let ends = on_ranks(3, |comm| {
            let mut lines = 0;
            let args = args(&["-n", "4", "--steps", "2", "--thermo", "1"]);
            run(&Serial, comm, &args, &mut |_| {
                lines += 1;
                if comm.rank() == 0 && lines > last { Err(Error::Invalid("full".into())) } else { Ok(()) }
            })
            .map(|_| ())
        });
        assert_eq!(ends[0], Err(Error::Invalid("full".into())));
        assert!(ends[1..].iter().all(|end| *end == Err(Error::Elsewhere { rank: 0 })), "{ends:?}");
    }
}

#[test]
fn an_error_that_other_ranks_do_not_know_is_marked() {
    let error = || Error::Device("lost".into());
    let lone = Error::Alone(Box::new(error()));
    assert_eq!(alone(&Solo)(error()), error());
    for found in on_ranks(2, |comm| [error(), lone.clone(), Error::Elsewhere { rank: 1 }].map(alone(comm))) {
        assert_eq!(found, [lone.clone(), lone.clone(), Error::Elsewhere { rank: 1 }]);
    }
}
