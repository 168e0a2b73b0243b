//! Trilinear basis of the hexahedron on [-1, 1]^3.
//!
//! phi_m(xi) = prod_d (1 + s_md xi_d) / 2, where s_m is the corner of node m. Nodes are in the order of VTK and Exodus:
//! around the face zeta = -1, counter-clockwise seen from the face zeta = 1, then the same at zeta = 1. Shapes: values
//! `[node]`, gradients `[node, axis]` with respect to the reference coordinates.
//!
//! The functions are `const`, so that tables of the basis are computed at compile time.

/// Number of space dimensions.
pub const DIM: usize = 3;
/// Nodes of the trilinear hexahedron.
pub const HEX8_NODES: usize = 8;

/// Reference coordinates of each node, `[node, axis]`.
pub const CORNERS: [[f64; DIM]; HEX8_NODES] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// Returns the basis functions at reference point `xi`.
pub const fn values(xi: [f64; DIM]) -> [f64; HEX8_NODES] {
    let mut phi = [0.0; HEX8_NODES];
    let mut m = 0;
    while m < HEX8_NODES {
        phi[m] = factor(m, 0, xi) * factor(m, 1, xi) * factor(m, 2, xi);
        m += 1;
    }
    phi
}

/// Returns the derivatives of the basis functions with respect to the reference coordinates at `xi`.
pub const fn gradients(xi: [f64; DIM]) -> [[f64; DIM]; HEX8_NODES] {
    let mut gradients = [[0.0; DIM]; HEX8_NODES];
    let mut m = 0;
    while m < HEX8_NODES {
        let mut d = 0;
        while d < DIM {
            let (e, f) = ((d + 1) % DIM, (d + 2) % DIM);
            gradients[m][d] = 0.5 * CORNERS[m][d] * factor(m, e, xi) * factor(m, f, xi);
            d += 1;
        }
        m += 1;
    }
    gradients
}

/// Returns the factor of phi_m that depends on axis `d`.
const fn factor(m: usize, d: usize, xi: [f64; DIM]) -> f64 {
    0.5 * (1.0 + CORNERS[m][d] * xi[d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_are_one_at_their_own_node_and_zero_at_the_others() {
        for (m, &corner) in CORNERS.iter().enumerate() {
            let phi = values(corner);
            assert!(phi.iter().enumerate().all(|(n, &v)| v == f64::from(u8::from(m == n))), "{phi:?}");
        }
    }

    proptest! {
        #[test]
        fn functions_sum_to_one_and_gradients_equal_differences(xi in prop::array::uniform3(-1.0..1.0f64)) {
            prop_assert!((values(xi).iter().sum::<f64>() - 1.0).abs() < 1e-15 * 8.0);
            let gradients = gradients(xi);
            for d in 0..DIM {
                prop_assert!(gradients.iter().map(|g| g[d]).sum::<f64>().abs() < 1e-15 * 8.0);
                // Each function is linear along an axis, so a difference quotient has no truncation error.
                let (mut ahead, mut back) = (xi, xi);
                ahead[d] += 0.5;
                back[d] -= 0.5;
                for m in 0..HEX8_NODES {
                    prop_assert!((values(ahead)[m] - values(back)[m] - gradients[m][d]).abs() < 1e-15);
                }
            }
        }
    }
}
