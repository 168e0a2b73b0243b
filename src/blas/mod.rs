//! Vector operations of the iterative solvers: reductions in a fixed order and fused updates.
