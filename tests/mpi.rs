//! Real ranks: this program starts itself under `mpirun` with 1, 2, 3, 4 and 8 ranks and checks how each run ends.
//!
//! ```text
//! cargo test --features mpi --test mpi            all cases
//! cargo test --features mpi --test mpi -- panic   those with "panic" in their name
//! ```
//! Without arguments from `mpirun` it is the runner; under `mpirun`, with a case's name in MINIFENL_MPI_CASE, a rank.

#[path = "common/mpirun.rs"]
mod mpirun;
#[path = "common/partitioned.rs"]
mod partitioned;
#[allow(dead_code)]
#[path = "../examples/partitioned_mesh.rs"]
mod partitioned_mesh;
#[path = "common/random.rs"]
mod random;

use minifenl::comm::{
    Communicator, GlobalMap, Halo, Map, Message, Neighbour, agree, default_threads, started_by_mpirun, world,
};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::space::Serial;
use minifenl::{Error, Result};
use std::process::{ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

const CASE: &str = "MINIFENL_MPI_CASE";
/// A run that takes longer than this hangs: a rank waits for one that has gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Name, numbers of ranks, what each rank does, and whether the end of all ranks is right.
struct Case {
    name: &'static str,
    ranks: &'static [usize],
    rank: fn(&dyn Communicator) -> Result<()>,
    ended_well: fn(&Output) -> bool,
}

const CASES: &[Case] = &[
    Case { name: "collectives", ranks: &[1, 2, 3, 4, 8], rank: collectives, ended_well: all_well },
    Case { name: "ring", ranks: &[2, 3, 4, 8], rank: ring, ended_well: all_well },
    Case { name: "halos_together", ranks: &[2, 3], rank: halos_together, ended_well: all_well },
    Case { name: "mesh_halo", ranks: &[1, 2, 3, 4, 8], rank: mesh_halo, ended_well: all_well },
    Case { name: "messages", ranks: &[1, 2, 3, 4, 8], rank: messages, ended_well: all_well },
    Case { name: "parts", ranks: &[1, 2, 3, 4, 8], rank: parts, ended_well: all_well },
    Case { name: "example", ranks: &[1, 2, 3, 4, 8], rank: partitioned_mesh::run, ended_well: example_ended_well },
    Case { name: "two_owners", ranks: &[2, 3], rank: two_owners, ended_well: two_owners_named },
    Case { name: "limited", ranks: &[1, 2, 3, 4, 8], rank: limited, ended_well: all_well },
    Case { name: "rank_order", ranks: &[1, 2, 3, 4, 8], rank: rank_order, ended_well: all_well },
    Case { name: "missing_rank", ranks: &[2, 3], rank: missing_rank, ended_well: missed },
    Case { name: "missing_at_the_end", ranks: &[2], rank: missing_at_the_end, ended_well: missed },
    Case { name: "halo_without_partner", ranks: &[2], rank: halo_without_partner, ended_well: waiting_for_nobody },
    Case { name: "message_without_partner", ranks: &[2], rank: message_without_partner, ended_well: unreceived },
    #[cfg(feature = "faults")]
    Case { name: "message_fails", ranks: &[2, 3], rank: message_fails, ended_well: ended_by_one },
    Case { name: "bad_neighbour", ranks: &[2], rank: bad_neighbour, ended_well: all_well },
    Case { name: "short_message", ranks: &[2], rank: short_message, ended_well: all_well },
    Case { name: "agree", ranks: &[1, 2, 3, 8], rank: one_fails, ended_well: one_message },
    Case { name: "panic", ranks: &[1, 2, 4], rank: panics, ended_well: panicked },
    Case { name: "panic_on_a_thread", ranks: &[2], rank: panics_on_a_thread, ended_well: panicked },
    Case { name: "abort", ranks: &[2, 3], rank: aborts, ended_well: |run| run.status.code() == Some(7) },
];

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(name) if started_by_mpirun().is_some() => run_rank(&name),
        _ => run_cases(&std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default()),
    }
}

fn run_cases(word: &str) -> ExitCode {
    let (mut passed, mut failed) = (0, 0);
    for case in CASES.iter().filter(|case| case.name.contains(word)) {
        for &ranks in case.ranks {
            let start = Instant::now();
            let verdict = match run(case.name, ranks) {
                Ok(run) if (case.ended_well)(&run) => "ok".to_string(),
                Ok(run) => format!(
                    "FAILED ({})\n{}{}",
                    run.status,
                    String::from_utf8_lossy(&run.stdout),
                    String::from_utf8_lossy(&run.stderr)
                ),
                Err(why) => format!("FAILED: {why}"),
            };
            println!("test {} on {ranks} ranks ... {verdict} ({:.1} s)", case.name, start.elapsed().as_secs_f64());
            if verdict == "ok" { passed += 1 } else { failed += 1 }
        }
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored");
    ExitCode::from(u8::from(failed > 0))
}

/// One run of this program on some ranks, ended by force when it hangs.
fn run(case: &str, ranks: usize) -> std::io::Result<Output> {
    let mut run = mpirun::mpirun(ranks)
        .arg(std::env::current_exe()?)
        .env(CASE, case)
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let start = Instant::now();
    while run.try_wait()?.is_none() {
        if start.elapsed() > PATIENCE {
            run.kill()?;
            let _ = run.wait();
            return Err(std::io::Error::other(format!("hangs: not over after {PATIENCE:?}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    run.wait_with_output()
}

/// What a program does: take the world, do the work, print an error that is its own, end with a code.
fn run_rank(name: &str) -> ExitCode {
    let comm = world().expect("MPI starts");
    comm.abort_on_panic();
    let case = CASES.iter().find(|case| case.name == name).expect("a case of this name");
    match (case.rank)(&*comm) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Elsewhere { .. }) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all_well(run: &Output) -> bool {
    run.status.success() && run.stderr.is_empty()
}

fn collectives(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank() as f64, comm.size() as f64);
    let mut values: Vec<f64> = (0..130).map(|i| rank + f64::from(i)).collect();
    comm.all_sum(&mut values);
    assert!(values.iter().enumerate().all(|(i, &x)| x == size * (size - 1.0) / 2.0 + size * i as f64));
    let mut ends = [rank, -rank, f64::NEG_INFINITY];
    comm.all_max(&mut ends);
    assert_eq!(ends, [size - 1.0, 0.0, f64::NEG_INFINITY]);
    let mut exact = [(1u64 << 53) + 1];
    comm.all_sum_u64(&mut exact);
    assert_eq!(exact, [comm.size() as u64 * ((1 << 53) + 1)]);
    let gathered = comm.all_gather(&[rank, 10.0 * rank])?;
    let expected: Vec<f64> = (0..comm.size()).flat_map(|r| [r as f64, 10.0 * r as f64]).collect();
    assert_eq!(gathered, expected);
    assert_eq!(comm.ranks_on_node(), comm.size());
    assert_eq!(comm.rank_on_node(), comm.rank());
    assert_eq!(comm.node_sum(3), 3 * comm.size() as u64);
    let cores = minifenl::space::allowed_cores();
    assert!((1..=cores).contains(&default_threads(comm)));
    // Sums that are begun, some of them too long for that, with messages between.
    for len in [1, 3, 8, 9, 130] {
        let mut begun: Vec<f64> = (0..len).map(|i| rank + i as f64).collect();
        comm.begin_all_sum(&begun);
        if comm.size() > 1 {
            ring(comm)?;
        }
        comm.end_all_sum(&mut begun);
        let expected = |i: usize| size * (size - 1.0) / 2.0 + size * i as f64;
        assert!(begun.iter().enumerate().all(|(i, &x)| x == expected(i)), "{len}: {begun:?}");
    }
    comm.barrier();
    assert_eq!(agree(comm, Ok(5))?, 5);
    Ok(())
}

/// Two values to the next rank and one to the previous; the map wants neighbours by rank, so lists are sorted.
fn ring_map(comm: &dyn Communicator) -> Map {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // From the next rank comes its value 0, from the previous its values 1 and 2.
    let mut links = vec![(next, vec![1, 2], 1), (previous, vec![0], 2)];
    if next == previous {
        links = vec![(next, vec![0, 1, 2], 3)];
    }
    links.sort();
    let mut end = 3;
    let neighbours = links.into_iter().map(|(rank, send, receive)| {
        end += receive;
        Neighbour { rank, send, receive: end - receive..end }
    });
    Map::new(3 * size as u64, 3, neighbours.collect()).expect("a valid map")
}

/// Owned value i of a rank in a round.
fn value(rank: usize, i: usize, round: usize) -> f64 {
    (1000 * round + 10 * rank + i) as f64
}

fn check_ring(comm: &dyn Communicator, x: &[f64], round: usize) {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let from_next: &[usize] = if size == 2 { &[0, 1, 2] } else { &[0] };
    let mut expected = vec![(next, from_next)];
    if size > 2 {
        expected.push((previous, &[1, 2]));
    }
    expected.sort();
    let ghosts: Vec<f64> = expected.iter().flat_map(|(r, list)| list.iter().map(|&i| value(*r, i, round))).collect();
    assert_eq!(x[3..], ghosts, "round {round}");
}

fn ring(comm: &dyn Communicator) -> Result<()> {
    let map = ring_map(comm);
    let mut halo = Halo::new(&Serial, comm, &map)?;
    let mut x = vec![f64::NAN; map.local_count()];
    for round in 0..200 {
        (0..3).for_each(|i| x[i] = value(comm.rank(), i, round));
        let in_flight = halo.begin(&Serial, &mut x)?;
        x[..3].fill(f64::NAN);
        if round % 50 == 7 {
            drop(in_flight);
            continue;
        }
        in_flight.finish(&Serial, &mut x)?;
        check_ring(comm, &x, round);
    }
    assert_eq!((halo.messages(), halo.bytes_sent()), (map.neighbours().len(), 24));
    Ok(())
}

/// Two halos under way at once, finished in different orders on different ranks.
fn halos_together(comm: &dyn Communicator) -> Result<()> {
    let map = ring_map(comm);
    let (mut first, mut second) = (Halo::new(&Serial, comm, &map)?, Halo::new(&Serial, comm, &map)?);
    let vector = |round| (0..map.local_count()).map(|i| value(comm.rank(), i, round)).collect::<Vec<f64>>();
    let (mut x, mut y) = (vector(1), vector(2));
    if comm.rank().is_multiple_of(2) {
        let (a, b) = (first.begin(&Serial, &mut x)?, second.begin(&Serial, &mut y)?);
        a.finish(&Serial, &mut x)?;
        b.finish(&Serial, &mut y)?;
    } else {
        let (b, a) = (second.begin(&Serial, &mut y)?, first.begin(&Serial, &mut x)?);
        b.finish(&Serial, &mut y)?;
        a.finish(&Serial, &mut x)?;
    }
    check_ring(comm, &x, 1);
    check_ring(comm, &y, 2);
    Ok(())
}

/// Each ghost of a mesh gets its global id from its owner.
fn mesh_halo(comm: &dyn Communicator) -> Result<()> {
    let spec = BoxSpec::unit([9, 7, 8], CoordinateMap::TWIST)?;
    let mesh = Mesh::new(&Serial, BoxPart::new(&spec, comm.rank(), comm.size())?, u64::MAX)?;
    let mut x = vec![-1.0; mesh.map.local_count()];
    (0..mesh.map.owned_count()).for_each(|node| x[node] = mesh.global_node(node as u32) as f64);
    Halo::new(&Serial, comm, &mesh.map)?.update(&Serial, &mut x)?;
    assert!(x.iter().enumerate().all(|(node, &id)| id == mesh.global_node(node as u32) as f64));
    let mut owned = [mesh.map.owned_count() as u64];
    comm.all_sum_u64(&mut owned);
    assert_eq!(owned, [9 * 7 * 8]);
    Ok(())
}

/// The list of a round that a rank sends to another: rounds differ in senders, lengths, and values.
fn message(round: usize, from: usize, to: usize) -> Vec<Vec<u64>> {
    let mut random = random::Random::new((1 + round * 10_007 + from * 101 + to) as u64);
    // Long lists need the receiver's buffer before they travel.
    let lengths = [0, 1, 20, 100_000 / (1 + from)];
    let lists = random.below(4).saturating_sub(1);
    (0..lists).map(|_| (0..random.pick(&lengths)).map(|_| random.below(1 << 30) as u64).collect()).collect()
}

/// Messages that nobody expects: ragged, to itself, several to one rank, none; round after round without a barrier between, while
/// halo messages are under way.
fn messages(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    if size > 1 {
        let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
        let mut x: Vec<f64> = (0..6).map(|i| value(rank, i, 1)).collect();
        let sparse = || comm.send_all(vec![(0, vec![rank as u64])]).map(|received| received.len());
        let received = if rank.is_multiple_of(2) {
            let in_flight = halo.begin(&Serial, &mut x)?;
            let received = sparse()?;
            in_flight.finish(&Serial, &mut x)?;
            received
        } else {
            let received = sparse()?;
            halo.update(&Serial, &mut x)?;
            received
        };
        assert_eq!(received, if rank == 0 { size } else { 0 });
        check_ring(comm, &x, 1);
    }
    for round in 0..40 {
        // Ranks are at different places when a round begins.
        std::thread::sleep(Duration::from_micros((rank * 7 + round * 13) as u64 % 5 * 100));
        let lists = |from: usize, to: usize| message(round, from, to).into_iter();
        // Highest receiver first, so that order is not that of the ranks.
        let sent = (0..size).rev().flat_map(|to| lists(rank, to).map(move |list| (to, list))).collect();
        let expected: Vec<Message> =
            (0..size).flat_map(|from| lists(from, rank).map(move |list| (from, list))).collect();
        let received = comm.send_all(sent)?;
        assert!(received == expected, "round {round}");
    }
    // All ranks refuse what one must not send, and the next round works.
    let wrong = if rank == 0 { vec![(size, vec![1])] } else { Vec::new() };
    let error = comm.send_all(wrong).expect_err("no such rank").to_string();
    let expected = if rank == 0 { format!("a message goes to rank {size}, expected") } else { "rank 0 failed".into() };
    assert!(error.contains(&expected) || size == 1, "{error}");
    assert_eq!(
        comm.send_all(vec![((rank + 1) % size, vec![rank as u64])])?,
        [((rank + size - 1) % size, vec![((rank + size - 1) % size) as u64])]
    );
    Ok(())
}

/// Meshes in random parts give the matrix, halo and solution of the whole problem.
fn parts(comm: &dyn Communicator) -> Result<()> {
    partitioned::check_many(comm, 1000 * comm.size() as u64 + 1, 24)
}

fn example_ended_well(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stdout);
    all_well(run) && text.starts_with("125 nodes on ") && text.contains("largest error ") && text.lines().count() == 2
}

/// Ranks 0 and the last own the same node.
fn two_owners(comm: &dyn Communicator) -> Result<()> {
    let other = if comm.rank() + 1 == comm.size() { 7 } else { 100 + comm.rank() as u64 };
    let own = if comm.rank() == 0 { [7, 8] } else { [10 * comm.rank() as u64, other] };
    GlobalMap::new(comm, &own, &[8]).map(drop)
}

fn two_owners_named(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let is_named = |last| format!("error: global id 7 is owned by ranks 0 and {last}, expected one owner");
    run.status.code() == Some(1) && lines.len() == 1 && [1, 2].iter().any(|&last| lines[0] == is_named(last))
}

/// Rank 1 takes part in the check of the messages, which is an all-reduce of two numbers, but never receives.
fn message_without_partner(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    if comm.rank() == 0 {
        return comm.send_all(vec![(1, vec![1, 2])]).map(drop);
    }
    comm.all_max(&mut [f64::NEG_INFINITY, 0.0]);
    std::thread::sleep(10 * PATIENCE);
    Ok(())
}

fn unreceived(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let words = "rank 1 missing; rank 0 waits at a sparse exchange, phase test";
    let told = text.lines().filter(|line| line.starts_with("error:") && line.ends_with(words)).count();
    run.status.code() == Some(1) && told == 1
}

/// On two ranks a send of the last rank fails, on three its memory for a message from rank 0. It ends the others.
#[cfg(feature = "faults")]
fn message_fails(comm: &dyn Communicator) -> Result<()> {
    use minifenl::faults::{Kind, Plan, set};
    let last = comm.size() - 1;
    if comm.rank() == last {
        // The first call of MPI checks the messages.
        let (kind, call) = if last == 1 { (Kind::Mpi, 2) } else { (Kind::Alloc, 1) };
        set(Some(Plan { kind, call, lasts: false }));
    }
    match comm.send_all(vec![(last - comm.rank(), vec![1, 2, 3])]) {
        Err(Error::Alone(error)) => {
            eprintln!("error: {error}");
            comm.abort(1)
        }
        result => result.map(drop),
    }
}

#[cfg(feature = "faults")]
fn ended_by_one(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let [line] = lines[..] else { return false };
    let words = ["error: MPI: MPI_Issend failed with code", "error: array `received message` needs 0.0 MiB (24 bytes)"];
    run.status.code() == Some(1) && words.iter().any(|words| line.starts_with(words))
}

/// The same results when waits have a limit.
fn limited(comm: &dyn Communicator) -> Result<()> {
    comm.limit_waits(Duration::from_secs(60), Box::new(|text| eprintln!("error: {text}")));
    collectives(comm)?;
    mesh_halo(comm)?;
    messages(comm)?;
    if comm.size() > 1 { ring(comm) } else { Ok(()) }
}

/// Value `i` of a rank, of either sign and of sizes that differ, so that a sum depends on its order.
fn odd(rank: usize, i: usize) -> f64 {
    let bits = (rank as u64 * 1_000_003 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits >> 11) as f64 * 2f64.powi(-50 + (bits % 40) as i32) * if bits & 64 == 0 { 1.0 } else { -1.0 }
}

/// Sums in rank order have the bits of a loop over the ranks, with and without a limit. The lengths span several pieces.
fn rank_order(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let by_loop = |i: usize| (1..size).fold(odd(0, i), |sum, other| sum + odd(other, i));
    let check = || {
        for len in (0..20).chain([63, 64, 65, 200]) {
            let mut values: Vec<f64> = (0..len).map(|i| odd(rank, i)).collect();
            comm.all_sum(&mut values);
            for (i, &sum) in values.iter().enumerate() {
                assert_eq!(sum.to_bits(), by_loop(i).to_bits(), "value {i} of {len}");
            }
        }
    };
    assert_eq!(comm.sums_in_rank_order(), size == 1);
    comm.fix_order_of_sums();
    assert!(comm.sums_in_rank_order());
    check();
    comm.limit_waits(Duration::from_secs(60), Box::new(|text| eprintln!("error: {text}")));
    check();
    collectives(comm)
}

/// Limits waits to a second; each rank says so when it tells.
fn limit(comm: &dyn Communicator) {
    let rank = comm.rank();
    comm.limit_waits(Duration::from_secs(1), Box::new(move |text| eprintln!("error: rank {rank} tells: {text}")));
    comm.enter_phase("test");
}

/// The last rank is stuck outside MPI; the others wait for it in an all-reduce or, on three ranks, in a barrier and a halo
/// exchange.
fn missing_rank(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
    comm.barrier();
    match comm.rank() {
        rank if rank + 1 == comm.size() => std::thread::sleep(10 * PATIENCE),
        1 => halo.update(&Serial, &mut vec![0.0; 6])?,
        _ if comm.size() == 2 => comm.all_sum(&mut [1.0]),
        _ => comm.barrier(),
    }
    Ok(())
}

/// The last rank never ends MPI.
fn missing_at_the_end(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    if comm.rank() + 1 == comm.size() {
        std::thread::sleep(10 * PATIENCE);
    }
    Ok(())
}

/// One line: rank 0 misses the last rank.
fn missed(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let [line] = lines[..] else { return false };
    run.status.code() == Some(1)
        && line.starts_with("error: rank 0 tells: a wait took longer than 1 s")
        && [
            ": rank 1 missing; rank 0 waits at all-reduce 2, phase test",
            ": rank 2 missing; rank 0 waits at barrier 2, phase test",
            ": rank 1 missing; rank 0 waits at end of MPI, collective 1, phase end",
        ]
        .iter()
        .any(|words| line.ends_with(words))
}

/// Ranks that wait for different things.
fn halo_without_partner(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
    if comm.rank() == 0 {
        halo.update(&Serial, &mut vec![0.0; 6])?
    } else {
        comm.barrier()
    }
    Ok(())
}

fn waiting_for_nobody(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let words = "rank 0 at a halo exchange, phase test; rank 1 at barrier 1, phase test";
    let told = text.lines().filter(|line| line.starts_with("error:") && line.ends_with(words)).count();
    run.status.code() == Some(1) && told == 1
}

fn bad_neighbour(comm: &dyn Communicator) -> Result<()> {
    for rank in [comm.rank(), 2] {
        let map = Map::new(9, 1, vec![Neighbour { rank, send: vec![0], receive: 1..2 }])?;
        let error = comm.exchange(&map).expect_err("no such neighbour").to_string();
        assert!(error.contains(&format!("rank {rank} as a neighbour")), "{error}");
    }
    Ok(())
}

/// Maps that do not match: rank 0 expects two values and gets one.
fn short_message(comm: &dyn Communicator) -> Result<()> {
    let (send, ghosts) = if comm.rank() == 0 { (vec![0], 2) } else { (vec![0], 1) };
    let map = Map::new(9, 1, vec![Neighbour { rank: 1 - comm.rank(), send, receive: 1..1 + ghosts }])?;
    let mut x = vec![0.0; map.local_count()];
    let result = Halo::new(&Serial, comm, &map)?.update(&Serial, &mut x);
    match comm.rank() {
        0 => assert!(result.expect_err("too short").to_string().contains("rank 1 sent 1 values, the map expects 2")),
        _ => result?,
    }
    Ok(())
}

/// The last two ranks fail; the lower one tells.
fn one_fails(comm: &dyn Communicator) -> Result<()> {
    let fails = comm.rank() + 2 >= comm.size();
    agree(comm, if fails { Err(Error::Invalid(format!("set-up of rank {}", comm.rank()))) } else { Ok(()) })
}

fn one_message(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    run.status.code() == Some(1) && text.matches("error: set-up of rank").count() == 1
}

fn panics(comm: &dyn Communicator) -> Result<()> {
    comm.barrier();
    assert_ne!(comm.rank(), comm.size() - 1, "on purpose");
    comm.barrier();
    comm.barrier();
    Ok(())
}

fn panics_on_a_thread(comm: &dyn Communicator) -> Result<()> {
    comm.barrier();
    if comm.rank() == 1 {
        let _ = std::thread::spawn(|| panic!("on purpose")).join();
    }
    comm.barrier();
    comm.barrier();
    Ok(())
}

fn panicked(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    run.status.code() == Some(101) && text.matches("on purpose").count() == 1 && text.contains("rank ")
}

fn aborts(comm: &dyn Communicator) -> Result<()> {
    if comm.rank() == 1 {
        comm.abort(7);
    }
    comm.barrier();
    Ok(())
}
