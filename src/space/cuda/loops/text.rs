//! The struct of functions of a loop, and the arrays of the loop, as text for the compiler and as arguments.

use crate::space::cuda::kernels::Use;
use crate::space::cuda::{Argument, CudaArray};
use crate::space::{DeviceText, Item};
use crate::{Error, Result};

/// Most numbers of a struct of functions: what a kernel takes by value.
const MOST_NUMBERS: usize = 31;
/// Most arrays of a loop, beside what else its kernel takes.
const MOST_ARRAYS: usize = 28;

/// `first, second, ...` for numbers of arrays.
pub(super) fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// An array of C++ with these items.
pub(super) fn braces(of: &str, count: usize, items: &str) -> String {
    if count == 0 { format!("Array<{of}, 0>{{}}") } else { format!("Array<{of}, {count}>{{{{{items}}}}}") }
}

pub(super) fn read(inputs: usize) -> String {
    braces("Item", inputs, &list(inputs, |k| format!("in{k}[i]")))
}

/// Arrays as parameters behind others.
pub(super) fn parameters(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(|k| format!(", {}", of(k))).collect()
}

pub(super) fn inputs(count: usize) -> String {
    parameters(count, |k| format!("const Item* __restrict__ in{k}"))
}

/// A struct of functions, as the launches of a loop take it.
pub(super) struct Statement {
    numbers: Vec<f64>,
    pub uses: Use,
}

impl Statement {
    /// Refuses more than a kernel takes.
    pub fn of<F: DeviceText>(f: &F, operation: &'static str, n: usize, arrays: [usize; 3]) -> Result<Self> {
        let mut numbers = f.parameters();
        let count: usize = arrays.iter().sum();
        check_items(|| operation.into(), n as u64)?;
        if count > MOST_ARRAYS || numbers.len() > MOST_NUMBERS {
            let found = format!("{count} arrays, {} numbers", numbers.len());
            return Err(Error::Invalid(format!(
                "{operation}: {found}: a GPU expects {MOST_ARRAYS} arrays, {MOST_NUMBERS} numbers at most"
            )));
        }
        // Two at least: an argument of one number is not a struct.
        numbers.resize(numbers.len().max(2), 0.0);
        Ok(Statement { numbers, uses: Use { text: F::TEXT, name: F::NAME, operation, arrays } })
    }

    /// The numbers of the struct.
    pub fn argument(&self) -> Argument {
        Argument::of_numbers(&self.numbers)
    }

    /// The text in front of the kernels.
    pub fn front(&self, of_loop: &[(&str, String)]) -> String {
        let Use { text, name, .. } = self.uses;
        let defines = of_loop.iter().map(|(name, text)| format!("#define {name} {text}\n")).collect::<String>();
        format!(
            "#line 1 \"{name}\"\nnamespace user_text {{\n{text}\n}}\nusing Statement = user_text::{name};\n#define NUMBERS {}\n{defines}",
            self.numbers.len()
        )
    }
}

/// Arrays that the functions of a loop index.
pub(super) struct Indexed {
    /// Type in CUDA, name and number of arrays, by kind.
    kinds: [(&'static str, &'static str, usize); 3],
    /// Address and length of each array, in the order of the kinds.
    pub slices: Vec<[u64; 2]>,
}

impl Indexed {
    /// Refuses arrays that are too long. `cell` is the type of the cells in CUDA.
    pub fn new<T: Item>(
        operation: &str,
        cell: &'static str,
        numbers: &[&CudaArray<f64>],
        indices: &[&CudaArray<u32>],
        cells: &[&mut CudaArray<T>],
    ) -> Result<Self> {
        let kinds = [
            ("const double", "number", numbers.len()),
            ("const unsigned", "index", indices.len()),
            (cell, "cell", cells.len()),
        ];
        let numbers = numbers.iter().map(|x| [x.address(), x.len() as u64]);
        let indices = indices.iter().map(|x| [x.address(), x.len() as u64]);
        let cells = cells.iter().map(|x| [x.address(), x.len() as u64]);
        Ok(Indexed { kinds, slices: indexable(operation, numbers.chain(indices).chain(cells))? })
    }

    /// The arrays as parameters of a kernel.
    pub fn parameters(&self) -> String {
        self.kinds.map(|(of, name, count)| parameters(count, |k| format!("Slice<{of}> {name}{k}"))).concat()
    }

    /// The arrays of each kind as one argument of a function.
    pub fn groups(&self) -> [String; 3] {
        let group = |(of, name, count)| braces(&format!("Slice<{of}>"), count, &list(count, |k| format!("{name}{k}")));
        self.kinds.map(group)
    }
}

/// Refuses more items than a function can index: `usize` is an `int` on a GPU.
fn check_items(what: impl Fn() -> String, items: u64) -> Result<()> {
    let count = |items: u64| format!("{items} items");
    let (most, what) = (i32::MAX as u64, || format!("{} on a GPU", what()));
    let error = || Error::TooLarge { what: what(), needed: count(items), limit: count(most) };
    if items <= most { Ok(()) } else { Err(error()) }
}

/// Refuses arrays that a function cannot index.
fn indexable(operation: &str, slices: impl IntoIterator<Item = [u64; 2]>) -> Result<Vec<[u64; 2]>> {
    let slices: Vec<_> = slices.into_iter().collect();
    slices.iter().try_for_each(|[_, length]| check_items(|| format!("{operation}: an array"), *length))?;
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl DeviceText for Nothing {
        const NAME: &'static str = "";
        const TEXT: &'static str = "";
        const METHODS: &'static [&'static str] = &[];

        fn parameters(&self) -> Vec<f64> {
            vec![]
        }
    }

    #[test]
    fn more_than_a_kernel_takes_is_refused() {
        let of = |n: usize, arrays: usize| Statement::of(&Nothing, "for_items", n, [arrays, 0, 0]).map(|_| ());
        assert_eq!(of(i32::MAX as usize, MOST_ARRAYS), Ok(()));
        let too_many = of(1 << 31, 0).unwrap_err().to_string();
        assert_eq!(too_many, "for_items on a GPU needs 2147483648 items, the limit is 2147483647 items");
        assert!(matches!(of(0, MOST_ARRAYS + 1), Err(Error::Invalid(_))));
    }

    #[test]
    fn arrays_that_a_function_cannot_index_are_refused() {
        assert_eq!(indexable("for_indices", [[0, i32::MAX as u64]]), Ok(vec![[0, i32::MAX as u64]]));
        let refused = indexable("for_indices", [[0, 1], [0, 1 << 31]]).unwrap_err().to_string();
        assert_eq!(refused, "for_indices: an array on a GPU needs 2147483648 items, the limit is 2147483647 items");
    }
}
