//! Where a run computes: `auto`, `cpu`, `cuda` or `cuda:K`.

use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// The device that a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The first GPU, where there is one and a single rank; else the cpu.
    #[default]
    Auto,
    /// Threads of the host.
    Cpu,
    /// GPU number K of those that this process sees (`cuda` is `cuda:0`).
    Cuda(usize),
}

/// The device that a run gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Threads of the host.
    Cpu {
        /// What to tell a person once, where a GPU was looked for and not found.
        notice: Option<String>,
    },
    /// The GPU with this number.
    #[cfg(feature = "cuda")]
    Cuda(usize),
}

impl Device {
    /// What this means on this machine for a run on `ranks` ranks.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a GPU and several ranks, [`Error::Device`] when the GPU asked for is not there, lacks its
    /// compiler, or this build lacks CUDA. `auto` and `cpu` never fail.
    pub fn choose(&self, ranks: usize) -> Result<Chosen> {
        match *self {
            Device::Cpu => Ok(Chosen::Cpu { notice: None }),
            Device::Auto if ranks > 1 => Ok(Chosen::Cpu { notice: None }),
            Device::Auto => Ok(first_gpu()),
            Device::Cuda(_) if ranks > 1 => Err(Error::Invalid(format!(
                "run.device (--device): {self} on {ranks} ranks: a GPU needs one rank; several ranks on GPUs come later"
            ))),
            Device::Cuda(ordinal) => {
                gpu(ordinal).map_err(|error| Error::Device(format!("run.device (--device): {self}: {error}")))
            }
        }
    }
}

/// The GPU, if all that a run on it needs is there.
#[cfg(feature = "cuda")]
fn gpu(ordinal: usize) -> Result<Chosen> {
    use crate::space::cuda::{architectures, devices};
    let count = devices()?.len();
    if ordinal >= count {
        return Err(Error::Device(format!("this process sees {count} GPUs, and cuda:0 is the first")));
    }
    architectures().map(|_| Chosen::Cuda(ordinal))
}

#[cfg(feature = "cuda")]
fn first_gpu() -> Chosen {
    gpu(0).unwrap_or_else(|error| {
        let why = error.to_string();
        Chosen::Cpu { notice: Some(format!("on the cpu: {}", why.trim_end_matches(", or run on the cpu"))) }
    })
}

#[cfg(not(feature = "cuda"))]
fn gpu(_: usize) -> Result<Chosen> {
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
            Device::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
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
            "cuda" => Ok(Device::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").filter(|number| digits(number));
                let ordinal = number.and_then(|number| number.parse().ok());
                ordinal.map(Device::Cuda).ok_or_else(|| {
                    Error::Invalid(format!("device {text:?}: choose one of auto, cpu, cuda, cuda:K (K from 0)"))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (text, device) in [("auto", Device::Auto), ("cpu", Device::Cpu), ("cuda:3", Device::Cuda(3))] {
            assert_eq!((text.parse::<Device>().unwrap(), device.to_string()), (device, text.to_string()));
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda: 1", "cuda:99999999999999999999", "Auto"]
        {
            let message = text.parse::<Device>().unwrap_err().to_string();
            assert!(message.contains("choose one of") && message.lines().count() == 1, "{message}");
        }
    }

    #[test]
    fn several_ranks_stay_on_the_cpu() {
        assert_eq!(Device::Auto.choose(2).unwrap(), Chosen::Cpu { notice: None });
        assert_eq!(Device::Cpu.choose(1).unwrap(), Chosen::Cpu { notice: None });
        let error = Device::Cuda(1).choose(4).unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains("--device")), "{error}");
    }

    #[test]
    fn auto_never_fails_and_a_missing_gpu_is_named() {
        if let Chosen::Cpu { notice } = Device::Auto.choose(1).unwrap() {
            assert_eq!(notice.is_some(), cfg!(feature = "cuda"));
            assert!(notice.is_none_or(|text| text.lines().count() == 1 && text.starts_with("on the cpu: ")));
        }
        let error = Device::Cuda(4096).choose(1).unwrap_err();
        assert!(matches!(&error, Error::Device(text) if text.contains("cuda:4096")), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}
