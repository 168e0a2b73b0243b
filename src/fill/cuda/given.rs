//! Given fields of an equation on a GPU. Twin of the host's `Given`.

use crate::Result;
use crate::fill::given::{GivenPlace, Place};
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, CudaArray, CudaMemory};

/// Most given fields of an equation: a kernel's argument has 31 words.
pub(super) const MOST_GIVEN: usize = 10;
/// Words of a field in the argument.
const WORDS: usize = 3;

/// A given field on a GPU: values of nodes, elements or quadrature points.
#[derive(Clone, Copy, Debug)]
pub struct CudaGiven<'a> {
    place: GivenPlace,
    values: &'a CudaArray<f64>,
}

impl<'a> CudaGiven<'a> {
    /// A value per node, interpolated as the unknowns are.
    pub fn nodes(values: &'a CudaArray<f64>) -> Self {
        CudaGiven { place: GivenPlace::NODES, values }
    }

    /// Component `c` of unknowns `[D node + c]`, such as those of an earlier time step.
    pub fn component<const D: usize>(unknowns: &'a CudaArray<f64>, c: usize) -> Self {
        const { assert!(D > 0, "a component of several") };
        CudaGiven { place: GivenPlace::component(D, c), values: unknowns }
    }

    /// A value per element.
    pub fn elements(values: &'a CudaArray<f64>) -> Self {
        CudaGiven { place: GivenPlace::ELEMENTS, values }
    }

    /// A value per quadrature point, `[element][point]`.
    pub fn points(values: &'a CudaArray<f64>) -> Self {
        CudaGiven { place: GivenPlace::POINTS, values }
    }

    /// Refuses a field of another length than the mesh needs.
    pub(super) fn check(&self, name: &'static str, table: &ElemNode<CudaMemory>, points: usize) -> Result<()> {
        self.place.check(name, self.values.len(), table, points)
    }

    /// The field as the kernels read it, of elements from `first` on.
    fn words(&self, first: usize, points: usize) -> [u64; WORDS] {
        let GivenPlace { at, stride, first: component } = self.place;
        let (kind, skipped) = match at {
            Place::Nodes => (0, 0),
            Place::Elements => (1, first),
            Place::Points => (2, first * points),
        };
        let address = self.values.address() + (skipped * size_of::<f64>()) as u64;
        [address, kind | (stride as u64) << 32, component as u64]
    }
}

/// The fields of elements from `first` on, as the words of a kernel's argument; without fields one unused field.
#[derive(Debug)]
pub(super) struct GivenWords(Vec<u64>);

impl GivenWords {
    pub fn new(given: &[CudaGiven<'_>], first: usize, points: usize) -> Self {
        let words = given.iter().flat_map(|field| field.words(first, points)).collect();
        GivenWords(if given.is_empty() { vec![0; WORDS] } else { words })
    }

    /// The argument, valid while the words live.
    pub fn argument(&self) -> Argument {
        Argument::of_words(&self.0)
    }
}
