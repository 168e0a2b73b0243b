//! The CUDA C++ text of a kernel file. The module that launches a file's kernels registers it by a `static`:
//!
//! ```text
//! pub static BLAS: KernelFile = kernel_file!("blas");
//! pub static HEAT: KernelFile = kernel_file!("heat", "element.cuh");
//! space.launch(&BLAS, "axpy", grid, arguments![...])?;
//! ```
//! NVRTC compiles the common header, the file's own headers, the defines of the call, and the file, in this order.

/// Header of every kernel file.
const COMMON: &str = include_str!("../../../kernels/common.cuh");

/// A kernel file: CUDA C++ that NVRTC compiles as one module.
#[derive(Debug)]
pub struct KernelFile {
    name: &'static str,
    headers: &'static [(&'static str, &'static str)],
    text: &'static str,
}

impl KernelFile {
    /// A kernel file from its name without `.cu`, the name and text of its headers, and its text.
    pub const fn new(name: &'static str, headers: &'static [(&'static str, &'static str)], text: &'static str) -> Self {
        KernelFile { name, headers, text }
    }

    /// Returns the file's name without `.cu`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the complete text that is compiled. `defines` holds one `#define` per line and stands before the file; it is
    /// empty for a file that is compiled once for all sizes. Each part has its own line numbers in messages.
    pub fn source(&self, defines: &str) -> String {
        let mut source = format!("#line 1 \"common.cuh\"\n{COMMON}\n");
        for (header, text) in self.headers {
            source += &format!("#line 1 \"{header}\"\n{text}\n");
        }
        source + &format!("{defines}#line 1 \"{}.cu\"\n{}", self.name, self.text)
    }
}

/// The [`KernelFile`] of `kernels/<name>.cu`, with headers from the same folder.
macro_rules! kernel_file {
    ($name:literal $(, $header:literal)*) => {
        $crate::space::cuda::KernelFile::new(
            $name,
            &[$(($header, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $header)))),*],
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name, ".cu")),
        )
    };
}
pub(crate) use kernel_file;
