//! Where a run computes: `auto`, `cpu`, `cuda` or `cuda:K`.

use crate::comm::Communicator;
use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// The device that a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The first GPU if there is one and the run has a single rank, otherwise the CPU.
    #[default]
    Auto,
    /// Threads of the host.
    Cpu,
    /// GPU K of those that this process sees. Without a number, the GPU whose number is the rank's on its host.
    Cuda(Option<usize>),
}

/// The device that a run gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Threads of the host.
    Cpu {
        /// Why GPU detection found no GPU, to be shown once.
        notice: Option<String>,
    },
    /// The GPU with this number.
    #[cfg(feature = "cuda")]
    Cuda(usize),
}

impl Device {
    /// Chooses the device of this rank on this machine. `share` allows several ranks on one GPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the GPU asked for is missing, lacks its compiler or is another rank's, or when this build lacks
    /// CUDA. `auto` and `cpu` never fail. `auto` selects the CPU on several ranks.
    pub fn choose(&self, comm: &dyn Communicator, share: bool) -> Result<Chosen> {
        match *self {
            Device::Cpu => Ok(Chosen::Cpu { notice: None }),
            Device::Auto if comm.size() > 1 => Ok(Chosen::Cpu { notice: None }),
            Device::Auto => Ok(first_gpu()),
            Device::Cuda(wanted) => {
                let place = Place { wanted, rank: comm.rank_on_node(), ranks: comm.ranks_on_node(), share };
                gpu(place).map_err(|error| Error::Invalid(format!("run.device (--device): {self}: {error}")))
            }
        }
    }
}

/// A rank on its host, and the GPU that it asks for.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
struct Place {
    wanted: Option<usize>,
    rank: usize,
    ranks: usize,
    share: bool,
}

impl Place {
    /// The number of the rank's GPU, of `gpus` on its host.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    fn ordinal(self, gpus: usize) -> Result<usize> {
        let Place { wanted, rank, ranks, share } = self;
        if let Some(wanted) = wanted.filter(|&wanted| wanted >= gpus) {
            return Err(Error::Device(format!(
                "cuda:{wanted}: this process sees {gpus} GPUs, and cuda:0 is the first"
            )));
        }
        let usable = if wanted.is_some() { 1 } else { gpus };
        if ranks > usable && !share {
            return Err(Error::Device(format!(
                "{ranks} ranks on this host for {usable} GPU{}: start one rank per GPU, or let ranks share a GPU with --share-gpu",
                if usable == 1 { "" } else { "s" }
            )));
        }
        Ok(wanted.unwrap_or(rank % gpus))
    }
}

/// The GPU, if all that a run on it needs is there.
#[cfg(feature = "cuda")]
fn gpu(place: Place) -> Result<Chosen> {
    use crate::space::cuda::{architectures, devices};
    let ordinal = place.ordinal(devices()?.len())?;
    architectures().map(|_| Chosen::Cuda(ordinal))
}

#[cfg(feature = "cuda")]
fn first_gpu() -> Chosen {
    gpu(Place { wanted: Some(0), rank: 0, ranks: 1, share: false }).unwrap_or_else(|error| {
        let why = error.to_string();
        Chosen::Cpu { notice: Some(format!("on the cpu: {}", why.trim_end_matches(", or run on the cpu"))) }
    })
}

#[cfg(not(feature = "cuda"))]
fn gpu(_: Place) -> Result<Chosen> {
    Err(Error::Device("this build has no CUDA; build it with the feature `cuda`, or run on the cpu".into()))
}

#[cfg(not(feature = "cuda"))]
fn first_gpu() -> Chosen {
    Chosen::Cpu { notice: None }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.pad("auto"),
            Device::Cpu => f.pad("cpu"),
            Device::Cuda(None) => f.pad("cuda"),
            Device::Cuda(Some(ordinal)) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(None)),
            _ => {
                let number = text.strip_prefix("cuda:").filter(|number| digits(number));
                let ordinal = number.and_then(|number| number.parse().ok());
                ordinal.map(|ordinal| Device::Cuda(Some(ordinal))).ok_or_else(|| {
                    Error::Invalid(format!("device {text:?}: choose one of auto, cpu, cuda, cuda:K (K from 0)"))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;

    #[test]
    fn names_are_read_and_written() {
        for (text, device) in [
            ("auto", Device::Auto),
            ("cpu", Device::Cpu),
            ("cuda", Device::Cuda(None)),
            ("cuda:3", Device::Cuda(Some(3))),
        ] {
            assert_eq!((text.parse::<Device>().unwrap(), device.to_string()), (device, text.to_string()));
        }
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda: 1", "cuda:99999999999999999999", "Auto"]
        {
            let message = text.parse::<Device>().unwrap_err().to_string();
            assert!(message.contains("choose one of") && message.lines().count() == 1, "{message}");
        }
    }

    #[test]
    fn ranks_of_a_host_take_a_gpu_each_or_share_when_told() {
        let ordinal = |wanted, rank, ranks, share, gpus| Place { wanted, rank, ranks, share }.ordinal(gpus);
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
    fn auto_never_fails_and_a_missing_gpu_is_named() {
        if let Chosen::Cpu { notice } = Device::Auto.choose(&Solo, false).unwrap() {
            assert_eq!(notice.is_some(), cfg!(feature = "cuda"));
            assert!(notice.is_none_or(|text| text.lines().count() == 1 && text.starts_with("on the cpu: ")));
        }
        let error = Device::Cuda(Some(4096)).choose(&Solo, false).unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains("cuda:4096")), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
