//! Element matrices of a scalar equation on hex8, as `store_equation` of the library computes them.
use cubecl::prelude::*;

pub const NODES: usize = 8;
pub const POINTS: usize = 8;
/// Numbers of the tables: [point][node][4], weights.
pub const TABLE: usize = POINTS * NODES * 4 + POINTS;

/// What an equation computes with: f64 or a dual number. Operators are for primitives only, so these are methods.
#[cube]
pub trait Number: CubeType + Clone + Send + Sync + 'static {
    fn constant(value: f64) -> Self;
    fn plus(a: Self, b: Self) -> Self;
    fn times(a: Self, b: Self) -> Self;
}

#[cube]
impl Number for f64 {
    fn constant(value: f64) -> Self {
        value
    }
    fn plus(a: Self, b: Self) -> Self {
        a + b
    }
    fn times(a: Self, b: Self) -> Self {
        a * b
    }
}

/// A value and its derivatives by gradient and value.
#[derive(CubeType, Clone)]
pub struct Dual {
    pub value: f64,
    pub d0: f64,
    pub d1: f64,
    pub d2: f64,
    pub d3: f64,
}

#[cube]
impl Number for Dual {
    fn constant(value: f64) -> Self {
        Dual { value, d0: 0.0f64, d1: 0.0f64, d2: 0.0f64, d3: 0.0f64 }
    }
    fn plus(a: Self, b: Self) -> Self {
        Dual { value: a.value + b.value, d0: a.d0 + b.d0, d1: a.d1 + b.d1, d2: a.d2 + b.d2, d3: a.d3 + b.d3 }
    }
    fn times(a: Self, b: Self) -> Self {
        Dual {
            value: a.value * b.value,
            d0: b.value * a.d0 + a.value * b.d0,
            d1: b.value * a.d1 + a.value * b.d1,
            d2: b.value * a.d2 + a.value * b.d2,
            d3: b.value * a.d3 + a.value * b.d3,
        }
    }
}

#[derive(CubeType, Clone)]
pub struct Field<N: Number> {
    pub g0: N,
    pub g1: N,
    pub g2: N,
    pub value: N,
}

#[derive(CubeType, Clone)]
pub struct Weak<N: Number> {
    pub f0: N,
    pub f1: N,
    pub f2: N,
    pub source: N,
}

/// The equation -K laplace(u) + u^2 = 0, written once.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Heat {
    pub conductivity: f64,
}

#[cube]
impl Heat {
    pub fn weak<N: Number>(&self, u: Field<N>) -> Weak<N> {
        let k = N::constant(self.conductivity);
        Weak::<N> {
            f0: N::times(k.clone(), u.g0),
            f1: N::times(k.clone(), u.g1),
            f2: N::times(k, u.g2),
            source: N::times(u.value.clone(), u.value),
        }
    }
}

#[cube]
impl Heat {
    /// Derivatives [i][j] of (flux, source) by (gradient, value), by hand.
    pub fn slopes(&self, u: Field<f64>, slope: &mut Array<f64>) {
        #[unroll]
        for k in 0..16usize {
            slope[k] = 0.0f64;
        }
        slope[0] = self.conductivity;
        slope[5] = self.conductivity;
        slope[10] = self.conductivity;
        slope[15] = u.value + u.value;
    }

    /// The same by dual numbers.
    pub fn dual_slopes(&self, u: Field<f64>, slope: &mut Array<f64>) {
        let zero = 0.0f64;
        let one = 1.0f64;
        let w = self.weak::<Dual>(Field::<Dual> {
            g0: Dual { value: u.g0, d0: one, d1: zero, d2: zero, d3: zero },
            g1: Dual { value: u.g1, d0: zero, d1: one, d2: zero, d3: zero },
            g2: Dual { value: u.g2, d0: zero, d1: zero, d2: one, d3: zero },
            value: Dual { value: u.value, d0: zero, d1: zero, d2: zero, d3: one },
        });
        put_row(slope, w.f0, 0usize);
        put_row(slope, w.f1, 4usize);
        put_row(slope, w.f2, 8usize);
        put_row(slope, w.source, 12usize);
    }
}

#[cube]
fn put_row(slope: &mut Array<f64>, of: Dual, #[comptime] at: usize) {
    slope[at] = of.d0;
    slope[at + 1] = of.d1;
    slope[at + 2] = of.d2;
    slope[at + 3] = of.d3;
}

/// Whether a derivative may differ from zero.
fn has(nonzero: u32, i: usize, j: usize) -> bool {
    nonzero >> (4 * i + j) & 1 == 1
}

/// Bits of C: the map mixes the axes.
fn mapped(nonzero: u32) -> u32 {
    let mut out = 0;
    for i in 0..4 {
        for j in 0..4 {
            if has(nonzero, i, j) {
                for k in if i < 3 { 0..3 } else { 3..4 } {
                    for l in if j < 3 { 0..3 } else { 3..4 } {
                        out |= 1 << (4 * k + l);
                    }
                }
            }
        }
    }
    out
}

fn packed(i: usize, j: usize) -> usize {
    i * (2 * NODES + 1 - i) / 2 + j - i
}

#[cube]
fn cross(a: &Array<f64>, #[comptime] b: usize, #[comptime] c: usize, out: &mut Array<f64>, #[comptime] to: usize) {
    out[to] = a[b + 1] * a[c + 2] - a[b + 2] * a[c + 1];
    out[to + 1] = a[b + 2] * a[c] - a[b] * a[c + 2];
    out[to + 2] = a[b] * a[c + 1] - a[b + 1] * a[c];
}

/// C from the derivative, symmetric; inverse[b][a] = d xi_b / d x_a.
#[cube]
fn transform(slope: &Array<f64>, inverse: &Array<f64>, measure: f64, out: &mut Array<f64>, #[comptime] nonzero: u32) {
    #[unroll]
    for b in 0..3usize {
        let mut row = Array::<f64>::new(4usize);
        let mut column = 0.0f64;
        #[unroll]
        for j in 0..4usize {
            let mut sum = 0.0f64;
            #[unroll]
            for a in 0..3usize {
                if comptime!(has(nonzero, a, j)) {
                    sum += inverse[3 * b + a] * slope[4 * a + j];
                }
            }
            row[j] = sum;
        }
        #[unroll]
        for a in 0..3usize {
            if comptime!(has(nonzero, 3, a)) {
                column += inverse[3 * b + a] * slope[12 + a];
            }
        }
        #[unroll]
        for e in b..3usize {
            let mut sum = 0.0f64;
            #[unroll]
            for a in 0..3usize {
                if comptime!(has(nonzero, 0, a) || has(nonzero, 1, a) || has(nonzero, 2, a)) {
                    sum += row[a] * inverse[3 * e + a];
                }
            }
            out[4 * b + e] = measure * sum;
            out[4 * e + b] = measure * sum;
        }
        out[4 * b + 3] = measure * row[3];
        out[12 + b] = measure * column;
    }
    out[15] = measure * slope[15];
}

/// One thread per element; stored as [entry, elem].
#[cube(launch_unchecked)]
pub fn store_equation(
    elem_node: &Array<u32>,
    node_coord: &Array<f64>,
    solution: &Array<f64>,
    tables: &Array<f64>,
    matrices: &mut Array<f64>,
    residuals: &mut Array<f64>,
    equation: &Heat,
    count: u32,
    #[comptime] by_hand: bool,
    #[comptime] nonzero: u32,
) {
    let mut table = SharedMemory::<f64>::new(TABLE);
    for i in range_stepped(UNIT_POS, comptime!(TABLE as u32), CUBE_DIM) {
        table[i as usize] = tables[i as usize];
    }
    sync_cube();
    let elem = ABSOLUTE_POS;
    let count = count as usize;
    if elem >= count {
        terminate!();
    }
    let mut coords = Array::<f64>::new(24usize);
    let mut unknowns = Array::<f64>::new(8usize);
    #[unroll]
    for m in 0..8usize {
        let node = elem_node[elem * 8 + m] as usize;
        #[unroll]
        for a in 0..3usize {
            coords[3 * m + a] = node_coord[3 * node + a];
        }
        unknowns[m] = solution[node];
    }
    let mut matrix = Array::<f64>::new(36usize);
    let mut residual = Array::<f64>::new(8usize);
    #[unroll]
    for k in 0..36usize {
        matrix[k] = 0.0f64;
    }
    #[unroll]
    for k in 0..8usize {
        residual[k] = 0.0f64;
    }
    for p in 0..8usize {
        let mut columns = Array::<f64>::new(9usize);
        let mut slope = Array::<f64>::new(3usize);
        let mut value = 0.0f64;
        #[unroll]
        for k in 0..9usize {
            columns[k] = 0.0f64;
        }
        #[unroll]
        for k in 0..3usize {
            slope[k] = 0.0f64;
        }
        let at = p * 32;
        #[unroll]
        for m in 0..8usize {
            #[unroll]
            for b in 0..3usize {
                let g = table[at + 4 * m + b];
                #[unroll]
                for a in 0..3usize {
                    columns[3 * b + a] += coords[3 * m + a] * g;
                }
                slope[b] += unknowns[m] * g;
            }
            value += unknowns[m] * table[at + 4 * m + 3];
        }
        let mut inverse = Array::<f64>::new(9usize);
        cross(&columns, 3usize, 6usize, &mut inverse, 0usize);
        cross(&columns, 6usize, 0usize, &mut inverse, 3usize);
        cross(&columns, 0usize, 3usize, &mut inverse, 6usize);
        let determinant = columns[0] * inverse[0] + columns[1] * inverse[1] + columns[2] * inverse[2];
        let reciprocal = 1.0f64 / determinant;
        let measure = determinant * table[256 + p];
        #[unroll]
        for k in 0..9usize {
            inverse[k] *= reciprocal;
        }
        let u = Field::<f64> {
            g0: inverse[0] * slope[0] + inverse[3] * slope[1] + inverse[6] * slope[2],
            g1: inverse[1] * slope[0] + inverse[4] * slope[1] + inverse[7] * slope[2],
            g2: inverse[2] * slope[0] + inverse[5] * slope[1] + inverse[8] * slope[2],
            value,
        };
        let weak = equation.weak::<f64>(u.clone());
        let mut w = Array::<f64>::new(4usize);
        #[unroll]
        for b in 0..3usize {
            w[b] = measure * (inverse[3 * b] * weak.f0 + inverse[3 * b + 1] * weak.f1 + inverse[3 * b + 2] * weak.f2);
        }
        w[3] = measure * weak.source;
        let mut slopes = Array::<f64>::new(16usize);
        if by_hand {
            equation.slopes(u, &mut slopes);
        } else {
            equation.dual_slopes(u, &mut slopes);
        }
        let mut c = Array::<f64>::new(16usize);
        transform(&slopes, &inverse, measure, &mut c, nonzero);
        #[unroll]
        for n in 0..8usize {
            #[unroll]
            for k in 0..4usize {
                residual[n] += table[at + 4 * n + k] * w[k];
            }
            let mut t = Array::<f64>::new(4usize);
            #[unroll]
            for k in 0..4usize {
                t[k] = 0.0f64;
                #[unroll]
                for j in 0..4usize {
                    if comptime!(mapped(nonzero) >> (4 * k + j) & 1 == 1) {
                        t[k] += c[4 * k + j] * table[at + 4 * n + j];
                    }
                }
            }
            #[unroll]
            for m in 0..n + 1 {
                #[unroll]
                for k in 0..4usize {
                    matrix[comptime!(packed(m, n))] += table[at + 4 * m + k] * t[k];
                }
            }
        }
    }
    #[unroll]
    for k in 0..8usize {
        residuals[k * count + elem] = residual[k];
    }
    #[unroll]
    for k in 0..36usize {
        matrices[k * count + elem] = matrix[k];
    }
}
