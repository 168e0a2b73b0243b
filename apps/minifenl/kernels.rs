//! `--kernel-info`: what the compiler made of every kernel, as a table.

use minifenl::comm::Solo;
use minifenl::run::Device;
use minifenl::{Error, Result};

/// A line a kernel of the GPU that `device` means (`auto` is the first one).
pub fn table(device: Device) -> Result<String> {
    match device {
        Device::Auto => on_gpu(0),
        Device::Cuda(ordinal) => on_gpu(ordinal.unwrap_or(0)),
        Device::Cpu => Err(Error::Invalid("run.device (--device): cpu: it has no kernels; give cuda or cuda:K".into())),
    }
}

#[cfg(feature = "cuda")]
fn on_gpu(ordinal: usize) -> Result<String> {
    use minifenl::run::{Chosen, report::columns};
    use minifenl::space::{Cuda, ExecutionSpace};

    let Chosen::Cuda(ordinal) = Device::Cuda(Some(ordinal)).choose(&Solo, false)? else { return Ok(String::new()) };
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

#[cfg(not(feature = "cuda"))]
fn on_gpu(ordinal: usize) -> Result<String> {
    Device::Cuda(Some(ordinal)).choose(&Solo, false).map(|_| String::new())
}
