//! The devices of all ranks: GPUs for all or for none is what `auto` decides on several ranks.
//!
//! ```text
//! rank     what it sees: a GPU of its own; fewer GPUs than ranks on its host; a GPU that cannot be used; none
//! ranks    all see a GPU of their own -> GPUs;  none sees any -> the CPU;  else -> the CPU, and a notice says why
//! ```
//! `auto` costs one message of 24 bytes from each rank to all, and as a given GPU one sum per rank of the host and one more.

use super::device::{Chosen, Device};
use crate::comm::{Communicator, equal_on_node};
use crate::error::count;
use crate::space::cuda::{NO_GPU, architectures, devices};
use crate::{Error, Result};

impl Device {
    /// Chooses the device of this rank on this machine. `share` allows several ranks on one GPU. Collective. `auto`
    /// gives all ranks the same kind of device: GPUs only if every rank has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the GPU asked for is missing, lacks its compiler, or is another rank's.
    /// `auto` fails with MPI alone, and `cpu` never.
    pub fn choose(&self, comm: &dyn Communicator, share: bool) -> Result<Chosen> {
        match *self {
            Device::Cpu => Ok(Chosen::Cpu { notice: None }),
            Device::Auto if comm.size() == 1 => Ok(first_gpu()),
            Device::Auto => {
                // A GPU for each rank, or the CPU for all.
                let place = Place::here(comm, None, share);
                let gpus = devices().map_or(0, |found| found.len());
                let seen = place.sees(gpus, || architectures().is_ok());
                agreed(comm, seen, place.ranks, gpus)
            }
            Device::Cuda(wanted) => gpu(Place::here(comm, wanted, share))
                .map_err(|error| Error::Invalid(format!("run.device (--device): {self}: {error}"))),
        }
    }
}

/// The GPU, if all that a run on it needs is there.
fn gpu(place: Place) -> Result<Chosen> {
    let ordinal = place.ordinal(devices()?.len())?;
    architectures().map(|_| Chosen::Cuda(ordinal))
}

fn first_gpu() -> Chosen {
    gpu(Place { wanted: Some(0), rank: 0, ranks: 1, share: false, own: false }).unwrap_or_else(|error| {
        let why = error.to_string();
        // Without a GPU there is nothing to know.
        let is_missed = !why.ends_with(NO_GPU);
        Chosen::Cpu {
            notice: is_missed.then(|| format!("on the cpu: {}", why.trim_end_matches(", or run on the cpu"))),
        }
    })
}

/// A rank on its host, and the GPU that it asks for.
#[derive(Clone, Copy)]
struct Place {
    wanted: Option<usize>,
    rank: usize,
    ranks: usize,
    share: bool,
    /// Whether the launcher shows each rank only GPUs of its own.
    own: bool,
}

impl Place {
    /// This rank's place among the ranks and GPUs of its host. Collective.
    fn here(comm: &dyn Communicator, wanted: Option<usize>, share: bool) -> Self {
        let found = devices().unwrap_or_default();
        Place::of(comm, wanted, share, found.get(wanted.unwrap_or(0)).and_then(|device| device.id))
    }

    /// This rank's place. `first` is the id of the GPU that the rank would take if it were alone on its host. Collective.
    fn of(comm: &dyn Communicator, wanted: Option<usize>, share: bool, first: Option<u64>) -> Self {
        let (rank, ranks) = (comm.rank_on_node(), comm.ranks_on_node());
        let is_alone = equal_on_node(comm, first) == 1 && first.is_some();
        let own = comm.node_sum(u64::from(is_alone)) == ranks as u64;
        Place { wanted, rank, ranks, share, own }
    }

    /// The number of the rank's GPU, of `gpus` on its host.
    fn ordinal(self, gpus: usize) -> Result<usize> {
        let Place { wanted, rank, ranks, share, own } = self;
        if let Some(wanted) = wanted.filter(|&wanted| wanted >= gpus) {
            return Err(Error::Device(format!(
                "cuda:{wanted}: this process sees {}, and cuda:0 is the first",
                count(gpus, "GPU")
            )));
        }
        if own {
            return Ok(wanted.unwrap_or(0));
        }
        let usable = if wanted.is_some() { 1 } else { gpus };
        if ranks > usable && !share {
            return Err(Error::Device(format!(
                "{} on this host for {}: start one rank per GPU, or let ranks share a GPU with --share-gpu",
                count(ranks, "rank"),
                count(usable, "GPU")
            )));
        }
        Ok(wanted.unwrap_or(rank % gpus))
    }

    /// What this rank sees on a host with `gpus` GPUs; `has_compiler` tells whether kernels can be compiled for them.
    fn sees(self, gpus: usize, has_compiler: impl FnOnce() -> bool) -> Seen {
        match () {
            () if gpus == 0 => Seen::None,
            () if !has_compiler() => Seen::Unusable,
            () => self.ordinal(gpus).map_or(Seen::TooFew, Seen::Usable),
        }
    }
}

/// What a rank sees on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A GPU for this rank, by its number.
    Usable(usize),
    /// Fewer GPUs than ranks.
    TooFew,
    /// A GPU without what it needs to compute.
    Unusable,
    /// No GPU.
    None,
}

/// Returns what all ranks use; `ranks` and `gpus` are those of this rank's host. Collective.
fn agreed(comm: &dyn Communicator, seen: Seen, ranks: usize, gpus: usize) -> Result<Chosen> {
    let kind = match seen {
        Seen::Usable(_) => 0,
        Seen::TooFew => 1,
        Seen::Unusable => 2,
        Seen::None => 3,
    };
    let all = comm.all_gather(&[kind, ranks, gpus].map(|number| number as f64))?;
    let all = all.as_chunks::<3>().0;
    // The lowest rank of each kind.
    let lowest = [0.0, 1.0, 2.0, 3.0].map(|kind| all.iter().position(|rank| rank[0] == kind));
    let cpu = |why: String| Chosen::Cpu { notice: Some(format!("on the cpu: {why}")) };
    Ok(match (lowest, seen) {
        ([Some(_), None, None, None], Seen::Usable(ordinal)) => Chosen::Cuda(ordinal),
        ([None, None, None, _], _) => Chosen::Cpu { notice: None },
        ([.., Some(rank)], _) => cpu(format!(
            "rank {rank} finds no GPU, other ranks do; start ranks only where there are GPUs, or give --device cpu"
        )),
        ([_, _, Some(rank), _], _) => {
            cpu(format!("rank {rank} cannot use the GPU that it finds; --device cuda says why"))
        }
        ([_, crowd, ..], _) => {
            let [_, ranks, gpus] = all[crowd.unwrap_or(0)].map(|number| number as u64);
            let gpus = count(gpus, "GPU");
            cpu(format!(
                "{ranks} ranks on a host with {gpus}; start one rank per GPU, or give --device cuda --share-gpu"
            ))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::{on_hosts, on_ranks};

    #[test]
    fn ranks_that_see_gpus_of_their_own_take_the_first_of_them() {
        // By the ids of each rank's first GPU: launchers that show each rank its GPU; all ranks the same; some ranks none.
        for (ids, expected) in [
            (&[Some(7), Some(8), Some(9)][..], [Some(0); 3]),
            (&[Some(7); 3], [None; 3]),
            (&[Some(7), Some(8), Some(7)], [None; 3]),
            (&[Some(7), Some(8), None], [None; 3]),
        ] {
            let taken = on_ranks(ids.len(), |comm| Place::of(comm, None, false, ids[comm.rank()]).ordinal(1).ok());
            assert_eq!(taken, expected, "{ids:?}");
        }
        let place = on_ranks(2, |comm| Place::of(comm, Some(1), false, Some(comm.rank() as u64 + 1)).ordinal(2).ok());
        assert_eq!(place, [Some(1); 2]);
        // Two hosts of two ranks: on the first each rank sees a GPU of its own, on the second both see the same two.
        let ids = [7, 8, 7, 7].map(Some);
        let taken = on_hosts(0, [2, 2], |comm| Place::of(comm, None, false, ids[comm.rank()]).ordinal(2).ok());
        assert_eq!(taken, [0, 0, 0, 1].map(Some));
    }

    #[test]
    fn ranks_of_a_host_take_a_gpu_each_or_share_when_told() {
        let ordinal = |wanted, rank, ranks, share, gpus| Place { wanted, rank, ranks, share, own: false }.ordinal(gpus);
        assert_eq!((0..4).map(|rank| ordinal(None, rank, 4, false, 4).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((0..4).map(|rank| ordinal(None, rank, 4, true, 2).unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!((ordinal(Some(1), 0, 1, false, 2).unwrap(), ordinal(Some(1), 2, 3, true, 2).unwrap()), (1, 1));
        let refused = ordinal(None, 0, 4, false, 2).unwrap_err().to_string();
        assert!(
            refused.contains("4 ranks") && refused.contains("2 GPUs") && refused.contains("--share-gpu"),
            "{refused}"
        );
        assert!(ordinal(Some(1), 0, 2, false, 2).unwrap_err().to_string().contains("1 GPU:"));
        assert!(ordinal(Some(2), 0, 1, false, 2).unwrap_err().to_string().contains("cuda:2"));
    }

    #[test]
    fn a_rank_sees_its_gpu_or_why_it_has_none() {
        let sees = |rank, ranks, share, gpus, compiler| {
            Place { wanted: None, rank, ranks, share, own: false }.sees(gpus, || compiler)
        };
        assert_eq!([0, 1].map(|rank| sees(rank, 2, false, 2, true)), [Seen::Usable(0), Seen::Usable(1)]);
        assert_eq!([0, 2].map(|rank| sees(rank, 3, false, 2, true)), [Seen::TooFew; 2]);
        assert_eq!([0, 1, 2].map(|rank| sees(rank, 3, true, 2, true)), [0, 1, 0].map(Seen::Usable));
        assert_eq!((sees(0, 1, false, 8, false), sees(0, 1, true, 0, true)), (Seen::Unusable, Seen::None));
    }

    /// What each rank concludes if it sees these things, with these numbers of ranks and GPUs on its host; of GPUs the first.
    fn agree_on(seen: &[(Seen, usize, usize)]) -> Chosen {
        use Seen::Usable;
        let found = on_ranks(seen.len(), |comm| {
            let (seen, ranks, gpus) = seen[comm.rank()];
            match (agreed(comm, seen, ranks, gpus).unwrap(), seen) {
                (Chosen::Cuda(ordinal), Usable(own)) if ordinal == own => Chosen::Cuda(0),
                (found, _) => found,
            }
        });
        assert!(found.iter().all(|other| *other == found[0]), "{seen:?}: {found:?}");
        found[0].clone()
    }

    #[test]
    fn all_ranks_use_gpus_or_none_does() {
        use Seen::{None as Nothing, TooFew, Unusable, Usable};
        let because = |why: &str| Chosen::Cpu { notice: Some(format!("on the cpu: {why}")) };
        for (seen, expected) in [
            // Two ranks on one host with two GPUs, and one on each of two hosts.
            (vec![(Usable(0), 2, 2), (Usable(1), 2, 2)], Chosen::Cuda(0)),
            (vec![(Usable(0), 1, 1), (Usable(0), 1, 4)], Chosen::Cuda(0)),
            // A machine without GPUs: nothing to say.
            (vec![(Nothing, 3, 0); 3], Chosen::Cpu { notice: None }),
            (
                vec![(TooFew, 4, 2); 4],
                because("4 ranks on a host with 2 GPUs; start one rank per GPU, or give --device cuda --share-gpu"),
            ),
            // One crowded host keeps all ranks from their GPUs.
            (
                vec![(Usable(0), 1, 1), (TooFew, 2, 1), (TooFew, 2, 1)],
                because("2 ranks on a host with 1 GPU; start one rank per GPU, or give --device cuda --share-gpu"),
            ),
            (
                vec![(Usable(0), 1, 1), (Usable(0), 1, 1), (Nothing, 1, 0)],
                because(
                    "rank 2 finds no GPU, other ranks do; start ranks only where there are GPUs, or give --device cpu",
                ),
            ),
            (
                vec![(Nothing, 1, 0), (TooFew, 2, 1), (TooFew, 2, 1)],
                because(
                    "rank 0 finds no GPU, other ranks do; start ranks only where there are GPUs, or give --device cpu",
                ),
            ),
            (
                vec![(Usable(0), 2, 2), (Unusable, 2, 2)],
                because("rank 1 cannot use the GPU that it finds; --device cuda says why"),
            ),
        ] {
            assert_eq!(agree_on(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn auto_never_fails_and_a_missing_gpu_is_named() {
        if let Chosen::Cpu { notice } = Device::Auto.choose(&Solo, false).unwrap() {
            assert!(notice.is_none_or(|text| text.lines().count() == 1 && text.starts_with("on the cpu: ")));
        }
        let error = Device::Cuda(Some(4096)).choose(&Solo, false).unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains("cuda:4096")), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
