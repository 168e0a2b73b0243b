// Scalars and states of a CG solve: slots as in CgSlot, states as in CgState (src/solve/krylov/cg/state.rs).

constexpr int PQ = 2, TARGET = 3, LIMIT = 4, COUNT = 5, STATE = 6, RHS = 7;
// Scalars of single-reduction CG that cg_begin sets, as in FusedSlot.
constexpr int US = 13, PS = 14, UPDATES = 15, FRESH = 16;
constexpr double CONVERGED = 1, BREAKDOWN = 2, NOT_FINITE = 3, LIMIT_REACHED = 4, UNDERFLOW_REACHED = 5;
// The smallest normal number. A sum of squares below it says nothing about a norm.
constexpr double SMALLEST_SQUARE = 2.2250738585072014e-308;

// Returns the state that follows from r.r after `count` iterations, before `judged`; 0 if the iteration continues.
INLINE double state_of(double rr, double target, double count, double limit) {
    if (!isfinite(rr)) return NOT_FINITE;
    if (sqrt(rr) <= target) return CONVERGED;
    return count >= limit ? LIMIT_REACHED : 0.0;
}
// Returns the state to be stored: a target whose square underflows is not converged to.
INLINE double judged(double state, double target) {
    return state == CONVERGED && target * target < SMALLEST_SQUARE ? UNDERFLOW_REACHED : state;
}
