//! Device of a run: `auto`, `cpu`, `cuda` or `cuda:K`.

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

#[cfg(not(feature = "cuda"))]
impl Device {
    /// Chooses the device of this rank: the CPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a GPU, which this build lacks.
    pub fn choose(&self, _: &dyn crate::comm::Communicator, _: bool) -> Result<Chosen> {
        match self {
            Device::Cpu | Device::Auto => Ok(Chosen::Cpu { notice: None }),
            Device::Cuda(_) => Err(Error::Invalid(format!(
                "run.device (--device): {self}: this build has no CUDA; build it with the feature `cuda`, or run on the cpu"
            ))),
        }
    }
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
}
