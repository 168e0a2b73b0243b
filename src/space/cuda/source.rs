//! The CUDA C++ text of a kernel file. The module that launches a file's kernels registers it by a `static`:
//!
//! ```text
//! pub static BLAS: KernelFile = kernel_file!("blas");
//! pub static HEAT: KernelFile = kernel_file!("heat", "element.cuh");
//! space.launch(&BLAS, "axpy", grid, arguments![...])?;
//! ```
//! NVRTC compiles the common header, the file's own headers, the defines of the call, the parts that need these defines
//! (`kernel_file!("apply", "device.cuh"; "apply_point.cuh")`), and the file, in this order.

/// Header of every kernel file.
const COMMON: &str = include_str!("../../../kernels/common.cuh");

/// A kernel file: CUDA C++ that NVRTC compiles as one module.
#[derive(Debug)]
pub struct KernelFile {
    name: &'static str,
    headers: &'static [Part],
    parts: &'static [Part],
    text: &'static str,
}

/// Name and text of a part of a kernel file.
pub type Part = (&'static str, &'static str);

impl KernelFile {
    /// Makes a kernel file from its name, headers, parts and text.
    pub const fn new(name: &'static str, headers: &'static [Part], parts: &'static [Part], text: &'static str) -> Self {
        KernelFile { name, headers, parts, text }
    }

    /// Returns the file's name without `.cu`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the complete text that is compiled. `defines` is text that ends with a line, such as one `#define` per line; it is empty
    /// for a file that is compiled once for all sizes. Each part has its own line numbers in messages.
    pub fn source(&self, defines: &str) -> String {
        let text = |(name, text): &Part| format!("#line 1 \"{name}\"\n{text}\n");
        let headers: String = [("common.cuh", COMMON)].iter().chain(self.headers).map(text).collect();
        let parts: String = self.parts.iter().map(text).collect();
        headers + defines + &parts + &format!("#line 1 \"{}.cu\"\n{}", self.name, self.text)
    }
}

/// The [`KernelFile`] of `kernels/<name>.cu`, with headers from the same folder.
macro_rules! kernel_file {
    ($name:literal $(, $header:literal)* $(; $($part:literal),+)?) => {
        $crate::space::cuda::KernelFile::new(
            $name,
            &[$(($header, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $header)))),*],
            &[$($(($part, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $part)))),+)?],
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name, ".cu")),
        )
    };
}
pub(crate) use kernel_file;
