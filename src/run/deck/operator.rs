//! What CG multiplies by: an assembled matrix, or the elements.

use super::Deck;
use crate::space::named_choice;
use crate::sparse::Precision;
use crate::{Error, Result};

/// The linear operator of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operator {
    /// A matrix, assembled in each Newton step and stored.
    #[default]
    Assembled,
    /// The Jacobian applied by elements: neither graph nor matrix is stored.
    MatrixFree,
}

impl Operator {
    /// All operators with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Operator::Assembled, "assembled"), (Operator::MatrixFree, "matrix-free")];
}

named_choice!(Operator, "operator");

impl Deck {
    /// Whether a run stores a matrix.
    pub fn has_matrix(&self) -> bool {
        self.cg.operator == Operator::Assembled
    }

    /// Refuses settings of a matrix where none is stored.
    pub(super) fn check_operator(&self) -> Result<()> {
        if self.has_matrix() {
            return Ok(());
        }
        let given = [
            ("matrix.format (--format)", self.matrix.format.given().map(|format| format.to_string())),
            ("matrix.values (--matrix)", Some(self.matrix.values).filter(|&v| v != Precision::F64).map(|v| v.to_string())),
            ("fill.kernel (--kernel)", self.fill.kernel.given().map(|kernel| kernel.to_string())),
        ];
        match given.into_iter().find_map(|(key, value)| value.map(|value| (key, value))) {
            None => Ok(()),
            Some((key, value)) => Err(Error::Invalid(format!(
                "cg.operator (--operator): matrix-free: {key} is {value}, and no matrix is stored; leave one of them out"
            ))),
        }
    }
}

#[test]
fn settings_of_a_matrix_are_refused_without_one() {
    use super::Choice;
    use crate::fill::Kernel;
    use crate::sparse::Format;
    let mut deck = Deck::default();
    deck.cg.operator = Operator::MatrixFree;
    deck.check().unwrap();
    let refused = |change: &dyn Fn(&mut Deck), part: &str| {
        let mut deck = deck.clone();
        change(&mut deck);
        let message = deck.check().unwrap_err().to_string();
        assert!(message.starts_with("cg.operator (--operator): matrix-free: ") && message.contains(part), "{message}");
        deck.cg.operator = Operator::Assembled;
        deck.check().unwrap();
    };
    refused(&|deck| deck.matrix.format = Choice::Given(Format::Sell), "matrix.format (--format) is sell");
    refused(&|deck| deck.matrix.values = Precision::F32, "matrix.values (--matrix) is f32");
    refused(&|deck| deck.fill.kernel = Choice::Given(Kernel::Fused), "fill.kernel (--kernel) is fused");
}
