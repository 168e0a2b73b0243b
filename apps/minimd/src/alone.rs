//! Errors that one rank meets in the midst of collective work.

use minifenl::Error;
use minifenl::comm::Communicator;

/// Marks the error of a rank that leaves collective work, for the program to end the other ranks; agreed ones stay as they are.
pub fn alone(comm: &dyn Communicator) -> impl Fn(Error) -> Error + use<> {
    let is_only = comm.size() == 1;
    move |error| match error {
        error @ (Error::Alone(_) | Error::Elsewhere { .. }) => error,
        error if is_only => error,
        error => Error::Alone(Box::new(error)),
    }
}
