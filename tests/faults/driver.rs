//! Calls of the GPU's driver that fail, in this process and in the program, on one rank and on one of two.

use super::*;

/// Returns the first GPU, or skips the test.
fn gpu(test: &str) -> Option<minifenl::space::Cuda> {
    support::or_skip(test, minifenl::space::Cuda::new(0), "MINIFENL_NEEDS_GPU")
}

/// All calls of the driver, in this process: the run ends with an error of the device or of its memory, and all memory that
/// it allocated on the GPU and page-locked is free again.
#[test]
fn each_call_of_the_driver_that_fails_is_an_error_and_leaks_nothing() {
    use minifenl::comm::Solo;
    use minifenl::faults::{Kind, Plan, set};
    use minifenl::run::{Deck, deck::Nodes, silent, solve_on};
    use minifenl::space::Cuda;
    use minifenl::space::cuda::pinned_bytes;

    let _alone = alone();
    // Keeps context and kernels, so that a run takes milliseconds.
    let Some(space) = gpu("each_call_of_the_driver_that_fails_is_an_error_and_leaks_nothing") else { return };
    let device = space.device().clone();
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([7; 3]).ok();
    let solve = || Cuda::new(0).and_then(|space| solve_on(&space, &deck, &Solo, &silent));
    set(None);
    assert!(solve().unwrap().verified);
    let before = (device.used_bytes().unwrap(), pinned_bytes());
    for (name, lasts) in [("one call fails", false), ("the device is lost", true)] {
        let (mut faults, mut errors, mut call) = (0, 0, 1u64);
        loop {
            set(Some(Plan { kind: Kind::Driver, call, lasts }));
            let result = solve();
            if set(None) == 0 {
                assert!(result.unwrap().verified, "call {call}: nothing failed");
                break;
            }
            faults += 1;
            match result {
                Ok(report) => assert!(report.verified && !lasts, "call {call}: {name}, and nobody noticed"),
                Err(error) => {
                    errors += 1;
                    let text = error.to_string();
                    assert!(text.contains("CUDA_ERROR") || text.contains("bytes) are free"), "call {call}: {text}");
                    assert_eq!(text.lines().count(), 1, "call {call}: {text}");
                }
            }
            // Memory is freed in the order of a stream that may still be working.
            let begin = Instant::now();
            while (device.used_bytes().unwrap(), pinned_bytes()) != before {
                let now = (device.used_bytes().unwrap(), pinned_bytes());
                assert!(
                    begin.elapsed() < Duration::from_secs(5),
                    "call {call}, {name}: {now:?} in use, {before:?} before"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
            call += if lasts { 1 + call / 10 } else { 1 };
        }
        println!("faults: {faults} calls of the driver ({name}), {errors} errors");
        assert!(faults > 30 && errors * 10 > faults * 8, "{faults} faults, {errors} errors");
    }
}

/// Calls of the driver in the program: codes, one line, nothing left. Code 2 before the work and for memory, else 1.
#[test]
fn a_program_whose_gpu_fails_ends_with_one_line() {
    let _alone = alone();
    if gpu("a_program_whose_gpu_fails_ends_with_one_line").is_none() {
        return;
    }
    let numbers = || std::iter::successors(Some(1u64), |call| Some(call + 1 + call / 4));
    let [faults, errors] = walk("driver", "cuda", &[1, 2], numbers());
    println!("faults: {faults} calls of the driver in the program, {errors} errors");
    assert!(faults > 15 && errors * 10 > faults * 8, "{faults} faults, {errors} errors");
}

/// One rank of 2 on a GPU whose driver fails, or whose memory is short: both ranks end, and that rank says why.
#[cfg(feature = "mpi")]
#[test]
fn a_gpu_that_fails_on_one_rank_ends_both() {
    let _alone = alone();
    if gpu("a_gpu_that_fails_on_one_rank_ends_both").is_none() {
        return;
    }
    // Fills the cache of kernels.
    assert_eq!(run(2, "nothing", "cuda").code, 0);
    let (mut counts, mut call) = ([0; 2], 1u64);
    loop {
        let fault = format!("driver:{call}@{}", call % 2);
        let begin = Instant::now();
        let end = run(2, &fault, "cuda");
        if end.fault.is_none() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{fault} took {:?}", begin.elapsed());
        counts[0] += 1;
        counts[1] += usize::from(check(&end, &format!("{fault} on 2 ranks"), &[1, 2]));
        call += 1 + call / 4;
    }
    println!("faults: {} calls of the driver on one of 2 ranks, {} errors", counts[0], counts[1]);
    assert!(counts[0] > 15 && counts[1] * 10 > counts[0] * 8, "{counts:?}");
}
