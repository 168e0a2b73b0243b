//! A measured case: one of the nine contractions with all its sizes.
//!
//! Per cell, in items: left L K, right R K, output L R; K = P D, D the product of the dimensions. Bytes: each input read
//! once, each output written once. Flops: 2 cells L R K. L is 1 for data, and so is R for data-data.

pub use minifenl::contraction::Contraction as Kernel;
use minifenl::space::Layout;

minifenl::space::named_choice! { "precision";
    /// Type of the numbers.
    #[derive(Hash)]
    pub enum Precision {
        /// 4 bytes.
        F32 = "f32",
        /// 8 bytes.
        F64 = "f64",
    }
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

/// Order of the indices in memory, by a name for decks and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order(pub Layout);

impl Order {
    /// Both.
    pub const ALL: [(Order, &'static str); 2] = [(Order(Layout::Left), "left"), (Order(Layout::Right), "right")];
}
minifenl::space::named_choice!(Order, "layout");

/// A contraction with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// Which of the nine.
    pub kernel: Kernel,
    /// Of its numbers.
    pub precision: Precision,
    /// L and R; 1 where the kernel has none.
    pub fields: [usize; 2],
    /// P.
    pub points: usize,
    /// D1 and D2; 1 where the kernel has none.
    pub dims: [usize; 2],
    /// C.
    pub cells: usize,
}

impl Case {
    /// A case as large as fits in `bytes`, of one cell at least; indices that the kernel lacks become 1.
    pub fn filling(
        kernel: Kernel,
        precision: Precision,
        fields: [usize; 2],
        points: usize,
        dims: [usize; 2],
        bytes: usize,
    ) -> Self {
        let mut case = Case::of_cell(kernel, precision, fields, points, dims);
        case.cells = (bytes / case.bytes().max(1)).max(1);
        case
    }

    /// A case of one cell; indices that the kernel lacks become 1.
    pub fn of_cell(kernel: Kernel, precision: Precision, fields: [usize; 2], points: usize, dims: [usize; 2]) -> Self {
        let has = kernel.fields();
        let fields = [0, 1].map(|side| if has[side] { fields[side] } else { 1 });
        let dims = [0, 1].map(|d| if d < kernel.rank() { dims[d] } else { 1 });
        Case { kernel, precision, fields, points, dims, cells: 1 }
    }

    /// K: terms of a sum.
    pub fn terms(&self) -> usize {
        self.points * self.dims[0] * self.dims[1]
    }

    /// Items of left, right and output.
    pub fn items(&self) -> [usize; 3] {
        let [l, r] = self.fields;
        [l * self.terms(), r * self.terms(), l * r].map(|items| items * self.cells)
    }

    /// Bytes read and written, each once.
    pub fn bytes(&self) -> usize {
        self.items().iter().sum::<usize>() * self.precision.bytes()
    }

    /// Whether the sizes are those of a case that a machine could hold: no index of 0, 1 where the kernel has none, and at most
    /// 2^60 bytes, so that the counts above do not overflow.
    pub fn is_possible(&self) -> bool {
        let Case { kernel, fields, points, dims, cells, .. } = *self;
        let has = kernel.fields();
        let is_there = [has[0], has[1], kernel.rank() > 0, kernel.rank() > 1];
        let sizes = [fields[0], fields[1], dims[0], dims[1]];
        let [l, r, d1, d2, p, c] = [fields[0], fields[1], dims[0], dims[1], points, cells].map(|size| size as f64);
        let bytes = ((l + r) * p * d1 * d2 + l * r) * c * self.precision.bytes() as f64;
        sizes.iter().zip(is_there).all(|(&size, is_there)| size == 1 || (is_there && size > 0))
            && points.min(cells) > 0
            && bytes <= (1u64 << 60) as f64
    }

    /// Products and sums.
    pub fn flops(&self) -> f64 {
        2.0 * self.items()[2] as f64 * self.terms() as f64
    }

    /// Extents of left, right and output as [C, fields, P, D, D]; an index that is lacking has extent 1.
    pub fn extents(&self) -> [[usize; 5]; 2] {
        [0, 1].map(|side| [self.cells, self.fields[side], self.points, self.dims[0], self.dims[1]])
    }
}

#[test]
fn the_counts_of_an_element_equal_those_by_hand() {
    let case = Case::filling(Kernel::FieldFieldVector, Precision::F64, [8, 8], 8, [3, 9], 1 << 20);
    assert_eq!((case.terms(), case.dims), (24, [3, 1]));
    assert_eq!(case.cells, (1 << 20) / 3584);
    assert_eq!(case.flops(), 3072.0 * case.cells as f64);
    let case = Case::filling(Kernel::DataDataTensor, Precision::F32, [8, 8], 8, [3, 3], 0);
    assert_eq!((case.cells, case.fields, case.items()), (1, [1, 1], [72, 72, 1]));
    assert_eq!((Kernel::DataFieldTensor.rank(), Kernel::DataFieldTensor.fields()), (2, [false, true]));
    let possible = |fields, points, dims, cells| {
        let (kernel, precision) = (Kernel::DataFieldVector, Precision::F64);
        Case { kernel, precision, fields, points, dims, cells }.is_possible()
    };
    assert!(possible([1, 8], 8, [3, 1], 1) && possible([1, 1], 1, [1, 1], 1 << 55));
    for (fields, points, dims, cells) in [
        ([2, 8], 8, [3, 1], 1),
        ([1, 8], 8, [3, 3], 1),
        ([1, 0], 8, [3, 1], 1),
        ([1, 8], 0, [3, 1], 1),
        ([1, 8], 8, [0, 1], 1),
        ([1, 8], 8, [3, 1], 0),
        ([1, 8], 8, [3, 1], 1 << 55),
        ([1, usize::MAX], usize::MAX, [usize::MAX, 1], usize::MAX),
    ] {
        assert!(!possible(fields, points, dims, cells), "{fields:?} {points} {dims:?} {cells}");
    }
}
