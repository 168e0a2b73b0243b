//! `--kernel-info`: what the compiler made of every kernel, as a table.

use minifenl::comm::Solo;
use minifenl::run::{Chosen, Device};
use minifenl::{Error, Result};

/// A line a kernel of the GPU that `device` means (`auto` is the first one).
pub fn table(device: Device) -> Result<String> {
    match device.choose(&Solo, false)? {
        #[cfg(feature = "cuda")]
        Chosen::Cuda(ordinal) => on_gpu(ordinal),
        Chosen::Cpu { .. } if device == Device::Cpu => {
            Err(Error::Invalid("run.device (--device): cpu: it has no kernels; give cuda or cuda:K".into()))
        }
        // A machine without a GPU is no notice.
        Chosen::Cpu { notice } => {
            let none = if cfg!(feature = "cuda") { "this machine has no NVIDIA GPU" } else { "this build has no CUDA" };
            let why = notice.as_deref().map_or(none, |notice| notice.trim_start_matches("on the cpu: "));
            Err(Error::Device(format!("--kernel-info: {why}")))
        }
    }
}

#[cfg(feature = "cuda")]
fn on_gpu(ordinal: usize) -> Result<String> {
    use minifenl::run::report::columns;
    use minifenl::space::{Cuda, ExecutionSpace};

    let space = Cuda::new(ordinal)?;
    let rows = space.kernel_info(&minifenl::kernel_files())?.into_iter().map(|kernel| {
        vec![
            format!("{}/{}", kernel.module, kernel.name),
            kernel.registers.to_string(),
            kernel.local_bytes.to_string(),
            kernel.shared_bytes.to_string(),
            kernel.max_threads.to_string(),
            format!("{:.0} %", 100.0 * kernel.occupancy),
        ]
    });
    let header = ["kernel", "registers", "local B", "shared B", "max threads", "occupancy"];
    let legend = "local: spilled registers and indexed arrays of a thread; shared: of a block; occupancy: in blocks of up to 256";
    Ok(format!("kernels on {}\n\n{}\n{legend}\n", space.label(), columns(&header, rows)))
}
