//! Limits the start of the ranks: a rank that never reaches MPI's start would let the others wait there for ever.

use minifenl::comm::launched_rank;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Time between the ends of two ranks.
const TURN: Duration = Duration::from_secs(4);

/// A limit that runs until [`over`](Startup::over); without ranks or without a limit, nothing.
pub struct Startup {
    _running: Option<Sender<()>>,
}

impl Startup {
    /// Ends the process with code 1 unless all ranks start within `limit`.
    pub fn watch(limit: Option<Duration>) -> Self {
        let (Some(limit), Some(rank)) = (limit, launched_rank()) else { return Startup { _running: None } };
        let (sender, receiver) = channel();
        // A thread that cannot be started costs the limit, not the run.
        let started = thread::Builder::new().name("startup".into()).spawn(move || wait(&receiver, limit, rank));
        Startup { _running: started.is_ok().then_some(sender) }
    }

    /// All ranks have started.
    pub fn over(self) {
        drop(self);
    }
}

fn wait(receiver: &Receiver<()>, limit: Duration, rank: usize) {
    // One rank after the other, so that the first one that waits ends all others, and one line is printed: launchers take a second or
    // two to end a job.
    let turn = TURN * rank.min(20) as u32;
    if receiver.recv_timeout(limit + turn) == Err(RecvTimeoutError::Timeout) {
        let seconds = limit.as_secs_f64();
        let text =
            format!("rank {rank} waited for {seconds} s (run.timeout, --timeout): other ranks have not started MPI");
        crate::look::fail(&text);
        process::exit(1);
    }
}
