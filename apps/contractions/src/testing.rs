//! What the unit tests share with the integration tests: the GPU, and where the recorded sweeps are.

#[path = "../../../tests/common/gpu.rs"]
mod gpu;
#[path = "../../../tests/common/root.rs"]
mod root;

pub use gpu::gpu;
pub use root::root;
