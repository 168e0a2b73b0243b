//! Arrays of any rank, packed, padded or scattered in memory, and the numbers to fill them with.

use crate::space::lanes::Real;
use crate::space::{Layout, View, ViewMut};

/// Where the items of an array lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Packed(Layout),
    /// Cells side by side, with a gap after each run of them.
    Padded,
    /// The second index runs fastest, then the rest, cells last; gaps everywhere.
    Scattered,
}
pub const PACKED: [Place; 2] = [Place::Packed(Layout::Left), Place::Packed(Layout::Right)];
pub const PLACES: [Place; 4] = [PACKED[0], PACKED[1], Place::Padded, Place::Scattered];

/// An array of any rank and its memory. Offsets are computed here, independently of the views.
#[derive(Clone, Debug)]
pub struct Array<T> {
    pub items: Vec<T>,
    pub extents: Vec<usize>,
    pub strides: Vec<usize>,
}

impl<T: Real> Array<T> {
    /// `f(index)` at each index; gaps hold `gap`.
    pub fn new(extents: &[usize], place: Place, gap: f64, mut f: impl FnMut(&[usize]) -> T) -> Self {
        let rank = extents.len();
        let order: Vec<usize> = match place {
            Place::Packed(Layout::Right) => (0..rank).rev().collect(),
            Place::Packed(Layout::Left) | Place::Padded => (0..rank).collect(),
            Place::Scattered => (1..=rank).map(|d| d % rank).collect(),
        };
        let (mut strides, mut len) = (vec![0; rank], if place == Place::Scattered { 2 } else { 1 });
        for (at, &d) in order.iter().enumerate() {
            strides[d] = len;
            len *= extents[d] + usize::from(place == Place::Scattered || (place == Place::Padded && at == 0));
        }
        let mut array = Array { items: vec![T::of(gap); len], extents: extents.to_vec(), strides };
        for index in indices(extents) {
            let at = array.offset(&index);
            array.items[at] = f(&index);
        }
        array
    }

    pub fn offset(&self, index: &[usize]) -> usize {
        assert!(index.len() == self.extents.len() && index.iter().zip(&self.extents).all(|(i, e)| i < e));
        index.iter().zip(&self.strides).map(|(i, s)| i * s).sum()
    }

    pub fn at(&self, index: &[usize]) -> T {
        self.items[self.offset(index)]
    }

    /// The same values elsewhere, among NaNs.
    pub fn moved(&self, place: Place) -> Self {
        Array::new(&self.extents, place, f64::NAN, |index| self.at(index))
    }

    pub fn view<const R: usize>(&self) -> View<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        View::with_strides(&self.items, extents, strides).unwrap()
    }

    pub fn view_mut<const R: usize>(&mut self) -> ViewMut<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        ViewMut::with_strides(&mut self.items, extents, strides).unwrap()
    }

    /// All of the memory, gaps included, to be compared bit by bit.
    pub fn bits(&self) -> Vec<u64> {
        self.items.iter().map(|&x| Into::<f64>::into(x).to_bits()).collect()
    }
}

/// All index tuples, the last index fastest.
pub fn indices(extents: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..extents.iter().product()).map(|mut at| {
        let mut index = vec![0; extents.len()];
        for d in (0..extents.len()).rev() {
            (index[d], at) = (at % extents[d], at / extents[d]);
        }
        index
    })
}

/// Integers in -8..=8, so that every product and sum is exact in any order, in f32 as in f64.
pub fn integer<T: Real>(seed: usize) -> impl FnMut(&[usize]) -> T {
    let mut random = random::<f64>(seed as u64);
    move |index| T::of((random(index) * 8.5).round().clamp(-8.0, 8.0))
}

/// Numbers in -1..1 (splitmix64).
pub fn random<T: Real>(mut state: u64) -> impl FnMut(&[usize]) -> T {
    move |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        T::of(((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }
}
