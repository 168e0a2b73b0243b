//! Runs: ranks, threads and lists agree, energy stays, and what cannot go well is refused.

use super::thread_ranks::on_ranks;
use super::{args, gpu, states};
use crate::run::{check_memory, run};
use minifenl::Error;
use minifenl::comm::Solo;
use minifenl::space::{Serial, Threads};

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
        (&["-n", "3", "--dt", "1"], "atoms are lost, the first at ("),
        (&["-n", "3", "--dt", "5"], "step 0: T = 1.440e0, atoms move 1.0e1 a step: the time step is too long"),
        (&["-n", "3", "--dt", "1", "--thermo", "5"], "a step: the time step is too long"),
    ] {
        let found = refused(words);
        assert!(found.contains(expected) && !found.contains('\n'), "{words:?}: {found}");
    }
    let large = check_memory(1 << 20, true, 500 << 20).unwrap_err().to_string();
    assert_eq!(large, "1048576 atoms: memory needs 588 MiB, the limit is 500 MiB free");
    assert!(check_memory(1 << 20, true, 588 << 20).is_ok() && check_memory(1 << 20, false, 588 << 20).is_err());
    // Of 60 ranks some have none of 32 atoms.
    let ends = on_ranks(60, |comm| states(&Serial, comm, &["-n", "2"]).unwrap_err());
    let told: Vec<String> =
        ends.iter().filter(|end| !matches!(end, Error::Elsewhere { .. })).map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("of 60: expected fewer ranks or more --cells"), "{told:?}");
}
