//! Loops with functions of a user on a GPU; launches `kernels/loops.cu`, compiled for the functions.

use super::{Argument, Cuda, CudaArray, Grid, KernelFile, kernel_file};
use crate::error::check_at_least;
use crate::space::{DeviceText, ExecutionSpace, ItemFn, Joiner, Loops};
use crate::{Error, Result};
use std::fmt::Write;

static LOOPS: KernelFile = kernel_file!("loops", "device.cuh");

const THREADS: u32 = 256;
/// Items per block of a reduction or scan, as in the kernels.
const TILE: usize = 2048;

/// The struct of the functions in front of the kernels.
fn front<F: DeviceText>() -> String {
    let (name, text) = (F::NAME, F::TEXT);
    format!("#line 1 \"{name}\"\nnamespace user_text {{\n{text}\n}}\nusing Statement = user_text::{name};\n")
}

/// The parameters of `for_items` with so many arrays.
fn arrays(inputs: usize, outputs: usize) -> String {
    let list = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>();
    let of_inputs = list(inputs, &|k| format!("const double* in{k}"));
    let of_outputs = list(outputs, &|k| format!("double* out{k}"));
    let mut text = format!("#define ARRAYS {}\n", [of_inputs, of_outputs].concat().join(", "));
    writeln!(text, "#define READ {}", list(inputs, &|k| format!("in{k}[i]")).join(", ")).unwrap_or_default();
    writeln!(text, "#define WRITE {}", list(outputs, &|k| format!("out{k}[i] = y[{k}];")).join(" "))
        .unwrap_or_default();
    text + &format!("#define INPUTS {}\n", inputs)
}

impl<F: DeviceText> Loops<F> for Cuda {
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&CudaArray<f64>; IN],
        outputs: [&mut CudaArray<f64>; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>,
    {
        inputs.iter().try_for_each(|x| check_at_least("for_items", "inputs", x.len(), n))?;
        outputs.iter().try_for_each(|x| check_at_least("for_items", "outputs", x.len(), n))?;
        if IN == 0 || OUT == 0 || IN + OUT > 30 || n > i32::MAX as usize {
            let found = format!("{IN} inputs, {OUT} outputs, {n} items");
            return Err(Error::Invalid(format!(
                "for_items: {found}: a GPU expects 1 or more of each, 30 arrays and 2^31 - 1 items at most"
            )));
        }
        let parameters = self.numbers(f)?;
        let mut arguments: Vec<Argument> = vec![(n as u64).into(), (&parameters).into()];
        arguments.extend(inputs.map(Argument::from));
        arguments.extend(outputs.map(Argument::from));
        let defines = front::<F>() + &arrays(IN, OUT);
        self.launch_specialised(&LOOPS, &defines, "for_items", Grid::cover(n, THREADS), &arguments)
    }

    fn reduce_items(&self, n: usize, joiner: &F, x: &CudaArray<f64>) -> Result<f64>
    where
        F: Joiner,
    {
        check_at_least("reduce_items", "x", x.len(), n)?;
        if n == 0 {
            return Ok(joiner.identity());
        }
        let (parameters, defines) = (self.numbers(joiner)?, front::<F>());
        let (mut count, mut partials): (usize, Option<CudaArray<f64>>) = (n, None);
        // At least once, so that a single item is copied, too.
        while count > 1 || partials.is_none() {
            let blocks = count.div_ceil(TILE);
            let mut joined = self.unfilled(blocks)?;
            let from = partials.as_ref().unwrap_or(x);
            let arguments = super::arguments![count as u64, &parameters, from, &mut joined];
            self.launch_specialised(&LOOPS, &defines, "reduce_items", Grid::new(blocks, THREADS), arguments)?;
            (count, partials) = (blocks, Some(joined));
        }
        let mut result = [joiner.identity()];
        partials.map_or(Ok(()), |partials| self.read(&partials, &mut result))?;
        Ok(result[0])
    }

    fn scan_items(&self, n: usize, joiner: &F, x: &CudaArray<f64>, out: &mut CudaArray<f64>) -> Result<()>
    where
        F: Joiner,
    {
        check_at_least("scan_items", "x", x.len(), n)?;
        check_at_least("scan_items", "out", out.len(), n)?;
        let parameters = self.numbers(joiner)?;
        self.scan_level(n, &front::<F>(), &parameters, x, out)
    }
}

impl Cuda {
    /// The fields of a struct; at least one number.
    fn numbers<F: DeviceText>(&self, of: &F) -> Result<CudaArray<f64>> {
        self.upload(&[&of.parameters()[..], &[0.0]].concat())
    }

    /// Scans tiles, then their totals, then adds these.
    fn scan_level(
        &self,
        n: usize,
        defines: &str,
        parameters: &CudaArray<f64>,
        x: &CudaArray<f64>,
        out: &mut CudaArray<f64>,
    ) -> Result<()> {
        let tiles = n.div_ceil(TILE);
        let mut totals = self.unfilled(tiles)?;
        let arguments = super::arguments![n as u64, parameters, x, &mut *out, &mut totals];
        self.launch_specialised(&LOOPS, defines, "scan_tiles", Grid::new(tiles, THREADS), arguments)?;
        if tiles <= 1 {
            return Ok(());
        }
        let mut summed = self.unfilled(tiles)?;
        self.scan_level(tiles, defines, parameters, &totals, &mut summed)?;
        let arguments = super::arguments![n as u64, parameters, &summed, &mut *out];
        self.launch_specialised(&LOOPS, defines, "scan_add", Grid::cover(n, THREADS), arguments)
    }
}
