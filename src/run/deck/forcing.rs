//! Accuracy of the linear solves within Newton's method, by name.

use crate::space::named_choice;

/// How accurately Newton's method solves for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forcing {
    /// To CG's tolerance.
    #[default]
    Fixed,
    /// As far as the step can use (Eisenstat and Walker 1996).
    Adaptive,
}

impl Forcing {
    /// All with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Fixed, "fixed"), (Self::Adaptive, "adaptive")];
}
named_choice!(Forcing, "forcing");
