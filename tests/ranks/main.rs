//! The program on several ranks, which `mpirun` starts: results, refusals, and how jobs end that fail.

mod ends;
mod hosts;
mod job;
mod jobs;
mod namespaces;
