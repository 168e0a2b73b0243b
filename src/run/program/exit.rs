//! Exit codes and the errors that lead to them.

use crate::Error;
use std::process::ExitCode;

/// Outcome of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The work is done and its result verified.
    Done = 0,
    /// Any failure that has no code of its own.
    Failed = 1,
    /// Bad usage or input, which includes a device that this machine lacks.
    BadInput = 2,
    /// An iteration did not converge, or a result is wrong.
    NotVerified = 3,
    /// A phase takes longer than a comparison allows.
    Slower = 4,
}

impl Exit {
    /// Returns the end of a run that produced a report.
    pub fn verdict(is_verified: bool) -> Self {
        if is_verified { Exit::Done } else { Exit::NotVerified }
    }

    /// Classifies an error before the work. A missing device is bad input for this machine.
    pub fn before_work(error: &(dyn std::error::Error + 'static)) -> Self {
        match error.downcast_ref() {
            Some(Error::Device(_)) => Exit::BadInput,
            _ => Exit::during_work(error),
        }
    }

    /// Classifies an error during the work: a device that fails then is a failure.
    pub fn during_work(error: &(dyn std::error::Error + 'static)) -> Self {
        match error.downcast_ref() {
            Some(
                Error::Invalid(_)
                | Error::TooLarge { .. }
                | Error::OutOfMemory { .. }
                | Error::Folded { .. }
                | Error::File { .. },
            ) => Exit::BadInput,
            Some(error) if error.is_collective() => Exit::NotVerified,
            _ => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_code_of_its_kind() {
        assert_eq!(Exit::during_work(&Error::Invalid("x".into())), Exit::BadInput);
        let breakdown = Error::Breakdown { iteration: 0, curvature: -1.0, residual: 1.0 };
        assert_eq!(Exit::during_work(&breakdown), Exit::NotVerified);
        assert_eq!(Exit::during_work(&Error::Mpi("x".into())), Exit::Failed);
        let device = Error::Device("x".into());
        assert_eq!([Exit::during_work(&device), Exit::before_work(&device)], [Exit::Failed, Exit::BadInput]);
    }
}
