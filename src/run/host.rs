//! The main job on hosts.

use super::Job;
use crate::comm::Communicator;
use crate::space::{FreeMemory, Scan, Threads, peak_bytes};
use crate::{Result, blas};
use std::time::Instant;

impl Job for Threads {
    type Mark = Instant;

    fn mark(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn between(&self, before: &Instant, after: &Instant) -> Result<f64> {
        Ok((*after - *before).as_secs_f64())
    }

    fn device(&self) -> String {
        "cpu".into()
    }

    fn scan(&self, rows: usize) -> Scan {
        Scan::of(self, rows)
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        Ok(FreeMemory::now().share(comm.ranks_on_node() as u64))
    }

    fn peak_bytes(&self) -> Result<u64> {
        Ok(peak_bytes())
    }

    fn triad_seconds(&self, comm: &dyn Communicator) -> f64 {
        // Three arrays are written for the first time, at 1 GB/s where pages are slow; a pass to warm up at 4 GB/s; passes for 0.4 s.
        let gb = 24e-9 * blas::triad_length(comm.ranks_on_node()) as f64;
        gb + 2.0 * gb / 4.0 + 0.4
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        Ok(blas::triad(self, blas::triad_length(comm.ranks_on_node()))?.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::{on_hosts, on_ranks};
    use crate::space::Serial;

    /// Two ranks of one host have half of its memory each, whatever other hosts have.
    #[test]
    fn ranks_share_the_memory_of_their_own_host() {
        let free = |comm: &dyn Communicator| Serial.free_bytes(comm).unwrap() as f64;
        let [all, half, of_hosts] =
            [free(&Solo), on_ranks(2, |comm| free(comm))[1], on_hosts(0, [3, 2], |comm| free(comm))[5]];
        // Other processes use memory, too.
        assert!(
            (0.4..0.6).contains(&(half / all)) && (0.4..0.6).contains(&(of_hosts / all)),
            "{all} {half} {of_hosts}"
        );
        let seconds = |comm: &dyn Communicator| Serial.triad_seconds(comm);
        let [two, of_hosts] = [on_ranks(2, |comm| seconds(comm))[0], on_hosts(0, [3, 2], |comm| seconds(comm))[5]];
        assert!((of_hosts / two - 1.0).abs() < 0.05 && seconds(&Solo) > 1.1 * two, "{of_hosts} {two}");
    }
}
