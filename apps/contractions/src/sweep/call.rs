//! One call of the library for a case, whatever the space: the nine by their number, packed views of long arrays.

use super::case::{Case, Kernel};
use minifenl::Result;
use minifenl::contraction::{self, Contract, Sum};
use minifenl::space::lanes::Real;
#[cfg(feature = "cuda")]
use minifenl::space::{CudaMemory, DeviceView, DeviceViewMut};
use minifenl::space::{HostMemory, Item, Layout, MemorySpace, Strided, View, ViewMut};

/// A memory whose arrays have views.
pub trait Views: MemorySpace {
    /// A packed view of an array's first items.
    ///
    /// # Errors
    /// [`Error::Invalid`](minifenl::Error::Invalid) when the array is too short.
    fn view<T: Item, const R: usize>(
        array: &Self::Array<T>,
        extents: [usize; R],
        layout: Layout,
    ) -> Result<Strided<Self::Shared<'_, T>, R>>;

    /// The same, to write.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    fn view_mut<T: Item, const R: usize>(
        array: &mut Self::Array<T>,
        extents: [usize; R],
        layout: Layout,
    ) -> Result<Strided<Self::Unique<'_, T>, R>>;
}

macro_rules! views {
    ($memory:ty, $view:ident, $view_mut:ident) => {
        impl Views for $memory {
            fn view<T: Item, const R: usize>(
                array: &Self::Array<T>,
                extents: [usize; R],
                layout: Layout,
            ) -> Result<Strided<Self::Shared<'_, T>, R>> {
                $view::new(array, extents, layout)
            }
            fn view_mut<T: Item, const R: usize>(
                array: &mut Self::Array<T>,
                extents: [usize; R],
                layout: Layout,
            ) -> Result<Strided<Self::Unique<'_, T>, R>> {
                $view_mut::new(array, extents, layout)
            }
        }
    };
}
views!(HostMemory, View, ViewMut);
#[cfg(feature = "cuda")]
views!(CudaMemory, DeviceView, DeviceViewMut);

type Array<S, T> = <<S as Contract>::Memory as MemorySpace>::Array<T>;

/// The contraction that `case` describes, of the first items of the arrays.
///
/// # Errors
/// A wrong shape, arrays that are too short, a device's failure.
pub fn call<S: Contract, T: Real>(
    space: &S,
    case: &Case,
    layout: Layout,
    left: &Array<S, T>,
    right: &Array<S, T>,
    out: &mut Array<S, T>,
) -> Result<()>
where
    S::Memory: Views,
{
    let Case { fields: [l, r], points: p, dims: [d1, d2], cells: c, .. } = *case;
    macro_rules! one {
        ($function:ident, $left:expr, $right:expr, $out:expr) => {
            contraction::$function(
                space,
                &S::Memory::view(left, $left, layout)?,
                &S::Memory::view(right, $right, layout)?,
                &mut S::Memory::view_mut(out, $out, layout)?,
                Sum::Overwrite,
            )
        };
    }
    match case.kernel {
        Kernel::FieldFieldScalar => one!(field_field_scalar, [c, l, p], [c, r, p], [c, l, r]),
        Kernel::FieldFieldVector => one!(field_field_vector, [c, l, p, d1], [c, r, p, d1], [c, l, r]),
        Kernel::FieldFieldTensor => one!(field_field_tensor, [c, l, p, d1, d2], [c, r, p, d1, d2], [c, l, r]),
        Kernel::DataFieldScalar => one!(data_field_scalar, [c, p], [c, r, p], [c, r]),
        Kernel::DataFieldVector => one!(data_field_vector, [c, p, d1], [c, r, p, d1], [c, r]),
        Kernel::DataFieldTensor => one!(data_field_tensor, [c, p, d1, d2], [c, r, p, d1, d2], [c, r]),
        Kernel::DataDataScalar => one!(data_data_scalar, [c, p], [c, p], [c]),
        Kernel::DataDataVector => one!(data_data_vector, [c, p, d1], [c, p, d1], [c]),
        Kernel::DataDataTensor => one!(data_data_tensor, [c, p, d1, d2], [c, p, d1, d2], [c]),
    }
}
