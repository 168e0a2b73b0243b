//! What the tests share: the nine in one table.

mod arrays;
mod bounds;
mod exact;
mod identities;
mod oracle;
mod shapes;

use super::*;
use crate::space::{Layout, Serial, Threads};
use arrays::{Array, PACKED, PLACES, Place, indices, integer, random};
use oracle::{Form, Formula, Sizes, accurate};

/// Threads (or [`Serial`]), inputs, output.
type Run<T> = fn(Option<&Threads>, &Array<T>, &Array<T>, &mut Array<T>, Sum) -> Result<()>;

/// One of the nine.
struct Kernel<T> {
    name: &'static str,
    form: Form,
    rank: usize,
    run: Run<T>,
}

impl<T: Real> Kernel<T> {
    /// Extents of both inputs and the output.
    fn extents(&self, sizes: &Sizes) -> [Vec<usize>; 3] {
        Formula(self.form, self.rank).extents(sizes)
    }

    /// The reference's loops.
    fn pairs(&self, sizes: &Sizes, a: &Array<T>, b: &Array<T>, entry: impl FnMut(&[usize], &[(T, T)])) {
        Formula(self.form, self.rank).pairs(sizes, a, b, entry);
    }

    /// A packed output, computed over NaNs.
    fn overwritten(&self, sizes: &Sizes, a: &Array<T>, b: &Array<T>, layout: Layout) -> Array<T> {
        let mut out = Array::new(&self.extents(sizes)[2], Place::Packed(layout), f64::NAN, |_| T::of(f64::NAN));
        (self.run)(None, a, b, &mut out, Sum::Overwrite).unwrap();
        out
    }
}

macro_rules! nine {
    ($($form:ident $rank:literal $kernel:ident;)*) => {
        fn nine<T: Real>() -> [Kernel<T>; 9] {
            [$(Kernel {
                name: stringify!($kernel),
                form: Form::$form,
                rank: $rank,
                run: |threads, a, b, out, sum| match threads {
                    None => $kernel(&Serial, &a.view(), &b.view(), &mut out.view_mut(), sum),
                    Some(threads) => $kernel(threads, &a.view(), &b.view(), &mut out.view_mut(), sum),
                },
            }),*]
        }
    };
}
nine! {
    FieldField 0 field_field_scalar; FieldField 1 field_field_vector; FieldField 2 field_field_tensor;
    DataField 0 data_field_scalar; DataField 1 data_field_vector; DataField 2 data_field_tensor;
    DataData 0 data_data_scalar; DataData 1 data_data_vector; DataData 2 data_data_tensor;
}
