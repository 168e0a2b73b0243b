//! Element matrices of the heat equation on hex8: cubecl beside the library's kernels, on the same arrays.
mod kernel;

use cubecl::prelude::*;
use cubecl::cuda::{CudaDevice, CudaRuntime};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::CompileOptions;
use kernel::{HeatLaunch, TABLE};
use minifenl::element::equations::Heat;
use minifenl::element::{Basis, ElementType};
use minifenl::fill::{ElementBatch, ElementKernel, EquationKernel, EquationText};
use minifenl::mesh::ElemNode;
use std::sync::Arc;
use std::time::Instant;

const K: f64 = 1.9;
const NONZERO: u32 = 1 << 15 | 1 << 10 | 1 << 5 | 1;
const THREADS: u32 = 128;

type Client = cubecl::client::ComputeClient<CudaRuntime>;

/// A wavy box of n^3 hexahedra.
struct Box {
    elem_node: Vec<u32>,
    coord: Vec<[f64; 3]>,
    solution: Vec<f64>,
}

impl Box {
    fn new(n: usize) -> Self {
        let id = |i: usize, j: usize, k: usize| (i + (n + 1) * (j + (n + 1) * k)) as u32;
        let mut elem_node = Vec::with_capacity(8 * n * n * n);
        for e in 0..n * n * n {
            let (i, j, k) = (e % n, e / n % n, e / (n * n));
            for z in [k, k + 1] {
                elem_node.extend([id(i, j, z), id(i + 1, j, z), id(i + 1, j + 1, z), id(i, j + 1, z)]);
            }
        }
        let h = 1.0 / n as f64;
        let (mut coord, mut solution) = (Vec::new(), Vec::new());
        for node in 0..(n + 1).pow(3) {
            let [x, y, z] = [node % (n + 1), node / (n + 1) % (n + 1), node / (n + 1).pow(2)].map(|i| i as f64);
            coord.push([h * (x + 0.2 * (y * z).sin()), h * (y + 0.2 * (x + z).cos()), h * (z + 0.2 * (x * y).sin())]);
            solution.push(1.0 + h * z + 0.1 * x.sin());
        }
        Box { elem_node, coord, solution }
    }
}

/// Matrices [packed(i, j)][elem], then residuals [i][elem], by the host.
fn reference(mesh: &Box) -> Vec<f64> {
    let (heat, basis) = (Heat::new(K), Basis::new(ElementType::Hex8).at(&ElementType::Hex8.rule()));
    let elem_node = ElemNode::new(mesh.elem_node.clone(), 8, mesh.coord.len()).unwrap();
    let solution: Vec<[f64; 1]> = mesh.solution.iter().map(|&u| [u]).collect();
    let kernel = EquationKernel::<_, 1, 8, 8>::new(&heat, &basis, &elem_node, &mesh.coord, &solution).unwrap();
    let (count, lanes) = (elem_node.elem_count(), minifenl::space::lanes::LANES);
    let mut out = vec![0.0; 44 * count];
    let (mut scratch, mut batch) = (kernel.scratch(), ElementBatch::ZERO);
    for first in (0..count).step_by(lanes) {
        kernel.evaluate(first..(first + lanes).min(count), &mut scratch, &mut batch);
        for lane in 0..lanes.min(count - first) {
            let mut entry = 0;
            for i in 0..8 {
                for j in i..8 {
                    out[entry * count + first + lane] = batch.matrix[i][j][lane];
                    entry += 1;
                }
                out[(36 + i) * count + first + lane] = batch.residual[i][lane];
            }
        }
    }
    out
}

/// Arrays in cubecl's memory.
struct Arrays {
    elem_node: cubecl::server::Handle,
    coord: cubecl::server::Handle,
    solution: cubecl::server::Handle,
    tables: cubecl::server::Handle,
    matrices: cubecl::server::Handle,
    residuals: cubecl::server::Handle,
    elems: usize,
    nodes: usize,
}

impl Arrays {
    fn new(client: &Client, mesh: &Box, tables: &[f64], filled: bool) -> Self {
        let elems = mesh.elem_node.len() / 8;
        // NaN where results are compared, so that what is not written shows.
        let output = |rows: usize| match filled {
            true => client.create_from_slice(f64::as_bytes(&vec![f64::NAN; rows * elems])),
            false => client.empty(rows * elems * 8),
        };
        Arrays {
            elem_node: client.create_from_slice(u32::as_bytes(&mesh.elem_node)),
            coord: client.create_from_slice(f64::as_bytes(mesh.coord.as_flattened())),
            solution: client.create_from_slice(f64::as_bytes(&mesh.solution)),
            tables: client.create_from_slice(f64::as_bytes(tables)),
            matrices: output(36),
            residuals: output(8),
            elems,
            nodes: mesh.coord.len(),
        }
    }

    fn launch(&self, client: &Client, by_hand: bool, nonzero: u32) {
        let blocks = self.elems.div_ceil(THREADS as usize) as u32;
        let arg = |handle: &cubecl::server::Handle, length| unsafe { ArrayArg::from_raw_parts(handle.clone(), length) };
        unsafe {
            kernel::store_equation::launch_unchecked::<CudaRuntime>(
                client,
                CubeCount::Static(blocks, 1, 1),
                CubeDim::new_1d(THREADS),
                arg(&self.elem_node, 8 * self.elems),
                arg(&self.coord, 3 * self.nodes),
                arg(&self.solution, self.nodes),
                arg(&self.tables, TABLE),
                arg(&self.matrices, 36 * self.elems),
                arg(&self.residuals, 8 * self.elems),
                HeatLaunch::new(K),
                self.elems as u32,
                by_hand,
                nonzero,
            );
        }
    }

    fn pointer(&self, client: &Client, handle: &cubecl::server::Handle) -> u64 {
        client.get_resource(handle.clone()).unwrap().resource().ptr
    }

    /// All matrices, then residuals.
    fn download(&self, client: &Client) -> Vec<f64> {
        let matrices = client.read_one(self.matrices.clone()).unwrap();
        let residuals = client.read_one(self.residuals.clone()).unwrap();
        [f64::from_bytes(&matrices), f64::from_bytes(&residuals)].concat()
    }
}

fn sync(client: &Client) {
    cubecl::future::block_on(client.sync()).unwrap();
}

/// Median of 20 samples of `batch` launches and one wait, in seconds per launch.
fn median(batch: usize, mut launch: impl FnMut(), mut wait: impl FnMut()) -> f64 {
    launch();
    wait();
    let mut samples: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| launch());
            wait();
            start.elapsed().as_secs_f64() / batch as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    0.5 * (samples[9] + samples[10])
}

fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let scale = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).fold(0.0f64, |max, (a, b)| if (a - b).is_nan() { f64::NAN } else { max.max((a - b).abs() / scale) })
}

/// One of the library's kernels, compiled and launched by hand on cubecl's memory.
struct Ours {
    stream: Arc<CudaStream>,
    store: CudaFunction,
    contract: CudaFunction,
    processors: u32,
    parameters: cudarc::driver::CudaSlice<f64>,
}

impl Ours {
    fn new(text: &EquationText<1>, basis: &minifenl::element::BasisTables) -> Self {
        let context = CudaContext::new(0).unwrap();
        let compiled = |source: &str, name: &str| {
            let start = Instant::now();
            let options = CompileOptions {
                options: vec!["--gpu-architecture=sm_90".into(), "--std=c++17".into(), "--extra-device-vectorization".into()],
                ..Default::default()
            };
            let module = cudarc::nvrtc::compile_ptx_with_opts(source, options).unwrap_or_else(|e| panic!("{e:?}"));
            let compiled = start.elapsed().as_secs_f64();
            let function = context.load_module(module).unwrap().load_function(name).unwrap();
            println!(
                "ours, {name}: NVRTC {compiled:.3} s, with load {:.3} s, {} registers, {} bytes local",
                start.elapsed().as_secs_f64(),
                function.num_regs().unwrap(),
                function.local_size_bytes().unwrap()
            );
            function
        };
        let store = compiled(&text.source(basis).unwrap(), "store_equation");
        let contract = compiled(&text.contraction_source(basis).unwrap(), "contract_equation");
        use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let processors = context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap() as u32;
        let stream = context.new_stream().unwrap();
        let parameters = stream.clone_htod(&[K, 0.0]).unwrap();
        Ours { store, contract, stream, processors, parameters }
    }

    fn launch(&self, client: &Client, arrays: &Arrays, contract: bool) -> impl FnMut() {
        let [elem_node, coord, solution, tables, matrices, residuals] =
            [&arrays.elem_node, &arrays.coord, &arrays.solution, &arrays.tables, &arrays.matrices, &arrays.residuals]
                .map(|handle| arrays.pointer(client, handle));
        let (count, column, capacity) = (arrays.elems as u64, 0u64, arrays.elems as u64);
        move || {
            let (function, blocks, threads) = match contract {
                true => (&self.contract, (arrays.elems.div_ceil(384 / 32 * 16) as u32).min(self.processors), 384),
                false => (&self.store, (arrays.elems.div_ceil(128)) as u32, 128),
            };
            let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
            let mut builder = self.stream.launch_builder(function);
            builder.arg(&count).arg(&column).arg(&capacity).arg(&elem_node).arg(&coord).arg(&solution).arg(&self.parameters);
            if !contract {
                builder.arg(&tables);
            }
            builder.arg(&matrices).arg(&residuals);
            unsafe { builder.launch(config) }.unwrap();
        }
    }
}

fn main() {
    let tables = {
        let basis = Basis::new(ElementType::Hex8).at(&ElementType::Hex8.rule());
        let at = |p: usize, m: usize| {
            let [a, b, c] = basis.gradients[8 * p + m];
            [a, b, c, basis.values[8 * p + m]]
        };
        let all = (0..64).flat_map(|pm| at(pm / 8, pm % 8));
        all.chain(basis.weights.iter().copied()).collect::<Vec<f64>>()
    };
    let (text, basis) =
        (EquationText::of(&Heat::new(K)), Basis::new(ElementType::Hex8).at(&ElementType::Hex8.rule()));
    assert_eq!(text.tables(&basis).unwrap(), tables);
    if let Some(folder) = std::env::args().nth(1) {
        let (mesh, write) = (Box::new(10), |name: &str, bytes: &[u8]| std::fs::write(format!("{folder}/{name}"), bytes).unwrap());
        write("elem_node", u32::as_bytes(&mesh.elem_node));
        write("coord", f64::as_bytes(mesh.coord.as_flattened()));
        write("solution", f64::as_bytes(&mesh.solution));
        write("tables", f64::as_bytes(&tables));
        write("expected", f64::as_bytes(&reference(&mesh)));
        return write("ours_store.cu", text.source(&basis).unwrap().as_bytes());
    }
    // cubecl's text includes cuda_runtime.h, which is empty for NVRTC.
    if std::env::var_os("CUDA_PATH").is_none() && !std::path::Path::new("/usr/local/cuda/include/cuda_runtime.h").exists() {
        std::fs::create_dir_all("/tmp/no-cuda/include").unwrap();
        std::fs::write("/tmp/no-cuda/include/cuda_runtime.h", "").unwrap();
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("CUDA_PATH", "/tmp/no-cuda") };
        println!("no cuda_runtime.h in /usr/local/cuda/include: an empty one instead");
    }
    let start = Instant::now();
    let client = CudaRuntime::client(&CudaDevice::default());
    println!("cubecl: client in {:.3} s", start.elapsed().as_secs_f64());
    let ours = Ours::new(&text, &basis);

    let mesh = Box::new(10);
    let expected = reference(&mesh);
    for (by_hand, nonzero, name) in
        [(true, NONZERO, "by hand"), (false, NONZERO, "dual numbers"), (true, 0xffff, "by hand, full pattern")]
    {
        let arrays = Arrays::new(&client, &mesh, &tables, true);
        sync(&client);
        let start = Instant::now();
        arrays.launch(&client, by_hand, nonzero);
        sync(&client);
        let first = start.elapsed().as_secs_f64();
        let error = difference(&arrays.download(&client), &expected);
        println!("cubecl, {name}: first launch {first:.3} s; 1000 elements differ by {error:.1e} of the largest");
    }
    for (contract, name) in [(false, "store_equation"), (true, "contract_equation")] {
        let arrays = Arrays::new(&client, &mesh, &tables, true);
        sync(&client);
        ours.launch(&client, &arrays, contract)();
        ours.stream.synchronize().unwrap();
        println!("ours, {name}: 1000 elements differ by {:.1e}", difference(&arrays.download(&client), &expected));
    }
    println!("\n{:>6} {:<40} {:>9} {:>9} {:>8}", "elems", "kernel", "ms", "ns/node", "GB/s");
    for n in [10, 64, 128, 256] {
        let mesh = Box::new(n);
        let arrays = Arrays::new(&client, &mesh, &tables, false);
        sync(&client);
        let batch = match n {
            10 => 100,
            64 => 20,
            128 => 5,
            _ => 2,
        };
        let row = |name: &str, seconds: f64| {
            let bytes = (arrays.elems * (44 * 8 + 32) + arrays.nodes * 32) as f64;
            let (ms, ns) = (1e3 * seconds, 1e9 * seconds / arrays.nodes as f64);
            println!("{:>6} {name:<40} {ms:>9.4} {ns:>9.4} {:>8.0}", format!("{n}^3"), 1e-9 * bytes / seconds);
        };
        // Twice in turns: differences between rounds show noise.
        for _ in 0..2 {
            for (by_hand, nonzero, name) in [
                (true, NONZERO, "cubecl, by hand"),
                (false, NONZERO, "cubecl, dual numbers"),
                (true, 0xffff, "cubecl, by hand, full pattern"),
            ] {
                row(name, median(batch, || arrays.launch(&client, by_hand, nonzero), || sync(&client)));
            }
            for (contract, name) in [(false, "ours, store_equation"), (true, "ours, contract_equation")] {
                let launch = ours.launch(&client, &arrays, contract);
                row(name, median(batch, launch, || ours.stream.synchronize().unwrap()));
            }
        }
    }
}
