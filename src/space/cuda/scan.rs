//! Scan and radix sort on a GPU: launches of `kernels/space.cu`. Integer results, the same in every run.

use super::{Cuda, CudaArray, Grid, KernelFile, arguments, kernel_file};
use crate::Result;
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use std::ops::Range;

/// The kernel file that `space` launches: scan and radix sort.
pub static SPACE: KernelFile = kernel_file!("space");

const THREADS: u32 = 256;
/// Items per block of the scan, as in the kernel.
const SCAN_TILE: usize = 4096;
/// Words of the scan's state before one word per tile: ticket, sum, maximum.
const STATE: usize = 3;
/// Keys per block of the sort, as in the kernel.
const SORT_TILE: usize = 4096;
/// Bits per pass, and values of such a digit.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;

/// The exclusive scan of an array of counts.
#[derive(Debug)]
pub struct Offsets {
    /// `offsets[i]` is the sum of the counts before `i`; one item more than there are counts.
    pub offsets: CudaArray<u64>,
    /// The sum of all counts.
    pub total: usize,
    /// The largest count.
    pub longest: usize,
}

impl Cuda {
    /// Enqueues the exclusive scan of the first `n` counts. Returns the offsets and the state, whose items 1 and 2 will hold
    /// the sum and the maximum. One pass, 12 bytes per count.
    pub(crate) fn scan(&self, n: usize, counts: &CudaArray<u32>) -> Result<(CudaArray<u64>, CudaArray<u64>)> {
        check_at_least("scan", "counts", counts.len(), n)?;
        let tiles = n.div_ceil(SCAN_TILE).max(1);
        let mut state = self.zeros::<u64>(STATE + tiles)?;
        let mut offsets = self.unfilled(n + 1)?;
        let grid = Grid::new(tiles, THREADS);
        self.launch(&SPACE, "scan", grid, arguments![n as u64, counts, &mut offsets, &mut state])?;
        Ok((offsets, state))
    }

    /// Returns the exclusive scan of the first `n` counts, their sum and maximum. Waits for these two numbers.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for fewer counts, [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the
    /// GPU is out of memory, [`Error::Device`](crate::Error::Device) if it fails.
    pub fn offsets(&self, n: usize, counts: &CudaArray<u32>) -> Result<Offsets> {
        let (offsets, state) = self.scan(n, counts)?;
        let mut numbers = [0; STATE];
        self.read(&state, &mut numbers)?;
        Ok(Offsets { offsets, total: numbers[1] as usize, longest: numbers[2] as usize })
    }

    /// Enqueues a stable radix sort of keys by `bits`, a range within `0..64`. Memory for the keys twice; moves 24 bytes per key
    /// for every 8 bits.
    ///
    /// # Errors
    /// As [`offsets`](Self::offsets).
    pub fn sort_keys(&self, mut keys: CudaArray<u64>, bits: Range<u32>) -> Result<CudaArray<u64>> {
        check_at_least("sort_keys", "bits", u64::BITS as usize, bits.end as usize)?;
        let n = keys.len();
        if n < 2 || bits.is_empty() {
            return Ok(keys);
        }
        let tiles = n.div_ceil(SORT_TILE);
        let grid = Grid::new(tiles, THREADS);
        let mut moved = self.unfilled::<u64>(n)?;
        let mut counts = self.unfilled::<u32>(tiles * DIGITS)?;
        let (size, of_tiles) = (n as u64, tiles as u64);
        for shift in bits.clone().step_by(DIGIT as usize) {
            let mask = (1u32 << DIGIT.min(bits.end - shift)) - 1;
            self.launch(&SPACE, "digit_count", grid, arguments![size, shift, mask, of_tiles, &keys, &mut counts])?;
            let (offsets, _) = self.scan(counts.len(), &counts)?;
            let arguments = arguments![size, shift, mask, of_tiles, &keys, &offsets, &mut moved];
            self.launch(&SPACE, "digit_move", grid, arguments)?;
            std::mem::swap(&mut keys, &mut moved);
        }
        Ok(keys)
    }
}

/// Returns the number of bits that represent `0..=largest`.
pub(crate) fn bits_of(largest: usize) -> u32 {
    usize::BITS - largest.leading_zeros()
}
