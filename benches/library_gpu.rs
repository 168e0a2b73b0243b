//! Assembly from index pairs on a GPU, beside CuPy, whose conversions call cuSPARSE.
//!
//! ```sh
//! cargo bench --bench library_gpu                     998 250 tetrahedra
//! MINIFENL_EDGE=30 cargo bench --bench library_gpu    29^3 * 6 = 146 334
//! ```
//! CuPy runs in a process of its own on the same GPU, started as `python3` (MINIFENL_PYTHON names another), in turn with ours and on
//! the same arrays; without it, its columns stay empty. It keeps no plan: compare its conversion with plan and sum for a first
//! matrix, and with the sum alone for later ones. `sort` is cuSPARSE's sort of the pairs alone, which sums nothing. Medians, in ms,
//! between events of the stream (ours) and with a synchronised clock (theirs, which adds about 0.01 ms).

#![allow(missing_docs)]

#[path = "common/python.rs"]
mod python;

use minifenl::Result;
use minifenl::contraction::Sum;
use minifenl::fill::{CudaCoo, DeviceIndices};
use minifenl::run::clock::median;
use minifenl::space::{Cuda, ExecutionSpace};
use minifenl::sparse::CrsMatrix;
use python::Peer;

/// Rounds of the peer; the first one warms up.
const ROUNDS: usize = 8;

/// Reads the arrays, then answers each line with the milliseconds of a conversion and of a sort, the entries and a checksum.
const CUPY: &str = r#"
import sys, time, cupy, cupyx.scipy.sparse, cupyx.cusparse
i, j, v = (cupy.fromfile(sys.argv[1] + n, dtype=t) for n, t in (("i", "i4"), ("j", "i4"), ("v", "f8")))
n = int(sys.argv[2])
print("CuPy", cupy.__version__, "cuSPARSE", cupyx.cusparse.getVersion() if hasattr(cupyx.cusparse, "getVersion") else "", flush=True)
wait = cupy.cuda.get_current_stream().synchronize
def timed(work):
    wait()
    start = time.perf_counter()
    result = work()
    wait()
    return 1e3 * (time.perf_counter() - start), result
for line in sys.stdin:
    ms, a = timed(lambda: cupyx.scipy.sparse.coo_matrix((v, (i, j)), shape=(n, n)).tocsr())
    b = cupyx.scipy.sparse.coo_matrix((v.copy(), (i.copy(), j.copy())), shape=(n, n))
    sort, _ = timed(lambda: cupyx.cusparse.coosort(b))
    print(ms, sort, a.nnz, float(a.data.sum()), flush=True)
"#;

/// Six tetrahedra per cell of a grid of `edge`^3 nodes.
fn tetrahedra(edge: u32) -> Vec<u32> {
    let mut table = Vec::new();
    for cell in 0..(edge - 1).pow(3) {
        let corner = [cell % (edge - 1), cell / (edge - 1) % (edge - 1), cell / (edge - 1).pow(2)];
        for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut at = corner;
            let mut add = |at: [u32; 3]| table.push(at[0] + edge * (at[1] + edge * at[2]));
            add(at);
            for axis in path {
                at[axis] += 1;
                add(at);
            }
        }
    }
    table
}

fn main() -> Result<()> {
    let edge: u32 = std::env::var("MINIFENL_EDGE").map_or(56, |text| text.parse().expect("MINIFENL_EDGE is a number"));
    let space = Cuda::new(0)?;
    println!("{}", space.label());
    pairs(&space, edge)
}

fn milliseconds<R>(space: &Cuda, work: impl FnMut() -> Result<R>) -> Result<f64> {
    Ok(1e3 * median(space, work)?.seconds)
}

/// Index pairs of element matrices: plan and sum, beside conversions from COO to CSR.
fn pairs(space: &Cuda, edge: u32) -> Result<()> {
    let (table, n) = (tetrahedra(edge), edge.pow(3) as usize);
    let i: Vec<i32> = table.iter().flat_map(|&node| [node as i32; 4]).collect();
    let j: Vec<i32> = table.chunks(4).flat_map(|nodes| nodes.repeat(4)).map(|node| node as i32).collect();
    let values: Vec<f64> = (0..i.len()).map(|k| (k % 17) as f64 - 8.0).collect();
    let folder = std::env::temp_dir().join(format!("minifenl-library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let write = |file: &str, bytes: Vec<u8>| std::fs::write(folder.join(file), bytes).expect("room for the arrays");
    write("i", i.iter().flat_map(|x| x.to_ne_bytes()).collect());
    write("j", j.iter().flat_map(|x| x.to_ne_bytes()).collect());
    write("v", values.iter().flat_map(|x| x.to_ne_bytes()).collect());
    let mut peer = Peer::start(CUPY, &folder, n);
    let (on_i, on_j, on_values, nodes) =
        (space.upload(&i)?, space.upload(&j)?, space.upload(&values)?, space.upload(&table)?);
    let elements = DeviceIndices { indices: &nodes, per_elem: 4 };
    let by_pairs = CudaCoo::new(space, n, n, &on_i, &on_j)?;
    let by_elements = CudaCoo::from_elements(space, n, n, elements, elements)?;
    let mut matrix = CrsMatrix::zeros_on(space, by_pairs.graph().clone())?;
    let mut of_elements = CrsMatrix::zeros_on(space, by_elements.graph().clone())?;
    let mut theirs: [Vec<f64>; 2] = Default::default();
    let mut ours: [Vec<f64>; 4] = Default::default();
    for round in 0..ROUNDS {
        let answer = peer.as_mut().and_then(Peer::convert::<4>);
        let times = [
            milliseconds(space, || CudaCoo::new(space, n, n, &on_i, &on_j))?,
            milliseconds(space, || by_pairs.set_values(space, &on_values, Sum::Overwrite, &mut matrix))?,
            milliseconds(space, || CudaCoo::from_elements(space, n, n, elements, elements))?,
            milliseconds(space, || by_elements.set_values(space, &on_values, Sum::Overwrite, &mut of_elements))?,
        ];
        if let Some([convert, sort, nnz, sum]) = answer {
            let own = space.download(matrix.values())?;
            assert_eq!((own.len() as f64, own.iter().sum::<f64>()), (nnz, sum), "CuPy has other sums");
            if round > 0 {
                theirs[0].push(convert);
                theirs[1].push(sort);
            }
        }
        ours.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
    }
    let middle = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let [convert, sort] = theirs.each_mut().map(middle);
    let [plan, sum, plan_elements, sum_elements] = ours.each_mut().map(middle);
    println!("{} tetrahedra, {} pairs, {} entries; ms", table.len() / 4, i.len(), matrix.graph().nnz());
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>14} {:>14}",
        "CuPy", "sort", "plan", "sum", "plan(elements)", "sum(elements)"
    );
    println!("{convert:>10.3} {sort:>10.3} {plan:>10.3} {sum:>10.3} {plan_elements:>14.3} {sum_elements:>14.3}");
    let bytes = (12 * i.len() + 12 * matrix.graph().nnz()) as f64;
    println!(
        "CuPy / plan and sum {:.1}, CuPy / sum {:.1}; the sum moves {:.0} GB/s",
        convert / (plan + sum),
        convert / sum,
        1e-6 * bytes / sum
    );
    println!("bytes per pair: plan {:.1}\n", by_pairs.bytes() as f64 / i.len() as f64);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
