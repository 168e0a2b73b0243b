//! Device of a run: `auto`, `cpu`, `cuda` or `cuda:K`.

use super::host_gpus::Place;
#[cfg(feature = "cuda")]
use super::host_gpus::{Agreed, Seen, agreed};
use crate::comm::Communicator;
use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// The device that a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A GPU for each rank if all ranks have one, otherwise the CPU.
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
        /// Why GPUs are not used, to be shown once.
        notice: Option<String>,
    },
    /// The GPU with this number.
    #[cfg(feature = "cuda")]
    Cuda(usize),
}

impl Device {
    /// Chooses the device of this rank on this machine. `share` allows several ranks on one GPU. Collective. `auto`
    /// gives all ranks the same kind of device: GPUs only if every rank has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the GPU asked for is missing, lacks its compiler or is another rank's, or when this build lacks
    /// CUDA. `auto` and `cpu` never fail.
    pub fn choose(&self, comm: &dyn Communicator, share: bool) -> Result<Chosen> {
        match *self {
            Device::Cpu => Ok(Chosen::Cpu { notice: None }),
            Device::Auto if comm.size() == 1 => Ok(first_gpu()),
            Device::Auto => Ok(gpus_of_all(comm, share)),
            Device::Cuda(wanted) => gpu(place(comm, wanted, share))
                .map_err(|error| Error::Invalid(format!("run.device (--device): {self}: {error}"))),
        }
    }
}

/// This rank's place among the ranks and GPUs of its host. Collective.
#[cfg(feature = "cuda")]
fn place(comm: &dyn Communicator, wanted: Option<usize>, share: bool) -> Place {
    let found = crate::space::cuda::devices().unwrap_or_default();
    Place::of(comm, wanted, share, found.get(wanted.unwrap_or(0)).and_then(|device| device.id))
}

#[cfg(not(feature = "cuda"))]
fn place(comm: &dyn Communicator, wanted: Option<usize>, share: bool) -> Place {
    Place::of(comm, wanted, share, None)
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
    gpu(Place { wanted: Some(0), rank: 0, ranks: 1, share: false, own: false }).unwrap_or_else(|error| {
        let why = error.to_string();
        // Without a GPU there is nothing to know.
        let is_missed = !why.ends_with(crate::space::cuda::NO_GPU);
        Chosen::Cpu {
            notice: is_missed.then(|| format!("on the cpu: {}", why.trim_end_matches(", or run on the cpu"))),
        }
    })
}

/// A GPU for each rank, or the CPU for all.
#[cfg(feature = "cuda")]
fn gpus_of_all(comm: &dyn Communicator, share: bool) -> Chosen {
    use crate::space::cuda::{architectures, devices};
    let place = place(comm, None, share);
    let gpus = devices().map_or(0, |found| found.len());
    let seen = place.sees(gpus, || architectures().is_ok());
    match (agreed(comm, seen, place.ranks, gpus), seen) {
        (Agreed::Gpus, Seen::Usable(ordinal)) => Chosen::Cuda(ordinal),
        (Agreed::Gpus, _) => Chosen::Cpu { notice: None },
        (Agreed::Cpu { notice }, _) => Chosen::Cpu { notice },
    }
}

#[cfg(not(feature = "cuda"))]
fn gpus_of_all(_: &dyn Communicator, _: bool) -> Chosen {
    Chosen::Cpu { notice: None }
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
    fn auto_never_fails_and_a_missing_gpu_is_named() {
        if let Chosen::Cpu { notice } = Device::Auto.choose(&Solo, false).unwrap() {
            assert!(notice.is_none_or(|text| text.lines().count() == 1 && text.starts_with("on the cpu: ")));
        }
        let error = Device::Cuda(Some(4096)).choose(&Solo, false).unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains("cuda:4096")), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
