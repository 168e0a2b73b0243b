//! The terms of constrained dofs on several ranks: each owner sends those of its dofs to the ranks that use them.
//!
//! ```text
//! message   per constrained dof that the receiver uses: id, number of terms, then per term its id and the words of its weight
//! ```

use super::gathered::{NO_ID, id};
use super::index::CooIndex;
use super::messages::Packed;
use super::slots::Elements;
use crate::comm::{GlobalMap, Message};
use crate::space::{try_collect, try_push, try_reserve};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// Constrained dofs: each with its terms, which are free dofs of any rank and their weights. A dof without terms is 0.
pub(super) type Constrained<W> = [(GlobalOrdinal, Vec<(GlobalOrdinal, W)>)];

/// Mark of a free dof.
const FREE: LocalOrdinal = LocalOrdinal::MAX;

/// The ids that this rank uses: those of its input and those of the terms of its own constrained dofs.
pub(super) fn ids_used<I: CooIndex, W>(
    input: &Elements<'_, I>,
    constrained: &Constrained<W>,
) -> Result<Vec<GlobalOrdinal>> {
    let mut used = Vec::new();
    let terms = constrained.iter().map(|(_, terms)| terms.len()).sum::<usize>();
    try_reserve("ids of dofs", &mut used, input.rows.len() + input.columns.len() + terms)?;
    used.extend(input.rows.iter().chain(input.columns).map(|&index| id(index)).filter(|&id| id != NO_ID));
    used.extend(constrained.iter().flat_map(|(_, terms)| terms).map(|(id, _)| *id));
    Ok(used)
}

/// Constrained dofs, in local indices, with their terms.
pub(super) struct SharedTerms<W> {
    /// Number of the constraint of each dof that this rank owns or uses, or [`FREE`].
    numbers: Vec<LocalOrdinal>,
    /// Constraint `c` has the terms `terms[starts[c]..starts[c + 1]]`.
    starts: Vec<usize>,
    terms: Vec<(GlobalOrdinal, W)>,
}

impl<W: Packed> SharedTerms<W> {
    /// The constrained dofs of this rank.
    pub(super) fn new(rank: usize, dofs: &GlobalMap, constrained: &Constrained<W>) -> Result<Self> {
        let (owned, local) = (dofs.map().owned_count(), dofs.map().local_count());
        let numbers = try_collect("constraints of dofs", (0..local).map(|_| FREE))?;
        let mut own = SharedTerms { numbers, starts: Vec::new(), terms: Vec::new() };
        try_push("offsets of terms", &mut own.starts, 0)?;
        for (dof, terms) in constrained {
            let Some(local) = dofs.local(*dof).filter(|&local| (local as usize) < owned) else {
                return Err(Error::Invalid(format!(
                    "combination: rank {rank} constrains dof {dof}, which it does not own; expected its own dofs"
                )));
            };
            if own.numbers[local as usize] != FREE {
                return Err(Error::Invalid(format!("combination: dof {dof} is constrained twice")));
            }
            own.add(local, terms.iter().copied())?;
        }
        Ok(own)
    }

    /// Adds the constraint of a dof.
    fn add(&mut self, dof: LocalOrdinal, terms: impl Iterator<Item = (GlobalOrdinal, W)>) -> Result<()> {
        self.numbers[dof as usize] = (self.starts.len() - 1) as LocalOrdinal;
        for term in terms {
            try_push("terms of combinations", &mut self.terms, term)?;
        }
        try_push("offsets of terms", &mut self.starts, self.terms.len())
    }

    /// To each rank that uses some of this rank's constrained dofs, their terms.
    pub(super) fn messages(&self, dofs: &GlobalMap) -> Result<Vec<Message>> {
        let (mut messages, mut words) = (Vec::new(), vec![0.0; W::WORDS]);
        for neighbour in dofs.map().neighbours() {
            let mut message = Vec::new();
            for &dof in &neighbour.send {
                let Some(terms) = self.of(dof) else { continue };
                try_reserve("terms to send", &mut message, 2 + terms.len() * (1 + W::WORDS))?;
                message.extend([dofs.ids()[dof as usize], terms.len() as u64]);
                for &(id, weight) in terms {
                    weight.pack(&mut words);
                    message.push(id);
                    message.extend(words.iter().map(|word| word.to_bits()));
                }
            }
            if !message.is_empty() {
                try_push("messages of terms", &mut messages, (neighbour.rank, message))?;
            }
        }
        Ok(messages)
    }

    /// Adds the constrained dofs of other ranks, and refuses combinations of constrained dofs.
    pub(super) fn with(mut self, dofs: &GlobalMap, came: &[Message]) -> Result<Self> {
        let (own, mut words) = (self.starts.len() - 1, vec![0.0; W::WORDS]);
        for (rank, message) in came {
            let mut rest = &message[..];
            while let [dof, count, terms @ ..] = rest {
                let torn = || Error::Mpi(format!("rank {rank} sent terms of dof {dof} that this rank did not expect"));
                let local = dofs.local(*dof).ok_or_else(torn)?;
                let size = (*count as usize).saturating_mul(1 + W::WORDS);
                let (terms, others) = terms.split_at_checked(size).ok_or_else(torn)?;
                self.add(
                    local,
                    terms.chunks_exact(1 + W::WORDS).map(|term| {
                        words.iter_mut().zip(&term[1..]).for_each(|(word, &bits)| *word = f64::from_bits(bits));
                        (term[0], W::unpack(&words))
                    }),
                )?;
                rest = others;
            }
        }
        for local in 0..dofs.map().owned_count() as LocalOrdinal {
            let is_constrained = |id: GlobalOrdinal| dofs.local(id).is_some_and(|local| self.of(local).is_some());
            let terms = self.number(local).filter(|&number| (number as usize) < own).map(|number| self.list(number));
            if let Some((other, _)) = terms.unwrap_or(&[]).iter().find(|(id, _)| is_constrained(*id)) {
                let dof = dofs.ids()[local as usize];
                return Err(Error::Invalid(format!(
                    "combination of dof {dof}: dof {other} is constrained, too, expected free dofs"
                )));
            }
        }
        Ok(self)
    }

    /// Number of the constraint of a dof; `None` for a free one.
    pub(super) fn number(&self, dof: LocalOrdinal) -> Option<LocalOrdinal> {
        Some(self.numbers[dof as usize]).filter(|&number| number != FREE)
    }

    /// The terms of a constraint.
    pub(super) fn list(&self, number: LocalOrdinal) -> &[(GlobalOrdinal, W)] {
        &self.terms[self.starts[number as usize]..self.starts[number as usize + 1]]
    }

    /// The terms of a dof; `None` for a free one.
    pub(super) fn of(&self, dof: LocalOrdinal) -> Option<&[(GlobalOrdinal, W)]> {
        self.number(dof).map(|number| self.list(number))
    }
}
