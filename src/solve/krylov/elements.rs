//! The Jacobian of a model as a Krylov method sees it, applied by elements: halo exchange, then the elements.
//!
//! Elements beside other ranks read ghosts, so the exchange ends before the first element.

use super::{LinearOperator, OperatorTimes};
use crate::Result;
use crate::blas::Reductions;
use crate::comm::{Halo, Staging};
use crate::fill::ApplyModel;
use crate::space::Slice;
use std::time::Instant;

/// A model's Jacobian without a matrix, with the exchange that refreshes the ghosts.
#[derive(Debug)]
pub struct ElementOperator<'a, S: Staging + ApplyModel> {
    operator: &'a mut S::ModelOperator,
    node_coord: &'a Slice<S, [f64; 3]>,
    halo: &'a mut Halo<S>,
    /// Owned unknowns, and all of them.
    sizes: [usize; 2],
    times: OperatorTimes,
}

impl<'a, S: Staging + ApplyModel> ElementOperator<'a, S> {
    /// An operator of `rows` owned unknowns of `columns`.
    pub fn new(
        operator: &'a mut S::ModelOperator,
        node_coord: &'a Slice<S, [f64; 3]>,
        halo: &'a mut Halo<S>,
        [rows, columns]: [usize; 2],
    ) -> Self {
        ElementOperator { operator, node_coord, halo, sizes: [rows, columns], times: OperatorTimes::default() }
    }

    /// Times since the operator was created; `None` on a space whose launches return before their kernels are done.
    pub fn times(&self) -> Option<OperatorTimes> {
        S::SYNCHRONOUS.then_some(self.times)
    }
}

impl<S: Staging + ApplyModel> LinearOperator<S> for ElementOperator<'_, S> {
    fn rows(&self) -> usize {
        self.sizes[0]
    }

    fn columns(&self) -> usize {
        self.sizes[1]
    }

    fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        let mut clock = Instant::now();
        self.halo.update(space, x)?;
        self.times.halo += std::mem::replace(&mut clock, Instant::now()).elapsed();
        space.apply_model(self.operator, self.node_coord, x, y, None)?;
        self.times.spmv += clock.elapsed();
        self.times.calls += 1;
        Ok(())
    }

    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Slice<S, f64>,
        q: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        let mut clock = Instant::now();
        self.halo.begin(space, p)?.finish(space, p)?;
        self.times.halo += std::mem::replace(&mut clock, Instant::now()).elapsed();
        space.apply_model(self.operator, self.node_coord, p, q, Some(sums))?;
        space.dot(self.sizes[0], p, q, sums, slot)?;
        self.times.spmv += clock.elapsed();
        self.times.calls += 1;
        Ok(())
    }

    /// A CUDA graph repeats work of the device only; some transports need the host in the middle of an iteration.
    fn is_recordable(&self) -> bool {
        self.halo.is_recordable()
    }
}
