//! CUDA C++ without a GPU: the compiler of the host compiles the text of kernels and of a user's functions, and NVRTC does.

mod device_text;
mod equation_kernel;
mod loops;
mod on_host;
pub mod teams;
pub mod tiles;
mod worksets;
