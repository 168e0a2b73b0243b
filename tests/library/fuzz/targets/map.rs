//! Maps of owned and ghost indices.

use super::one_line;
use arbitrary::{Result, Unstructured};
use minifenl::comm::{Map, Neighbour};

struct Input {
    global: u64,
    owned: usize,
    neighbours: Vec<Neighbour>,
}

fn input(data: &[u8]) -> Result<Input> {
    let mut bytes = Unstructured::new(data);
    let owned = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=20usize)? };
    let global = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=200u64)? };
    let (mut end, mut rank, mut neighbours) = (owned as u32, 0usize, Vec::new());
    while !bytes.is_empty() && neighbours.len() < 8 {
        rank = rank.wrapping_add(bytes.int_in_range(0..=3)?);
        let start = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { end };
        let length = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=9u32)? };
        end = start.wrapping_add(length);
        let count = bytes.int_in_range(0..=5)?;
        let send = (0..count).map(|_| Ok(u32::from(bytes.arbitrary::<u8>()? % 24))).collect::<Result<_>>()?;
        neighbours.push(Neighbour { rank, send, receive: start..end });
        rank = rank.wrapping_add(usize::from(bytes.ratio(15, 16)?));
    }
    Ok(Input { global, owned, neighbours })
}

/// Ranks ascend, ghosts follow the owned indices one by one, indices to send are owned, and all fit 32 bits and the
/// global number.
fn ghosts(input: &Input) -> Option<usize> {
    let (owned, all) = (input.owned as u128, &input.neighbours);
    let mut end = owned;
    for neighbour in all {
        let follows = u128::from(neighbour.receive.start) == end && neighbour.receive.start <= neighbour.receive.end;
        if !follows || neighbour.send.iter().any(|&index| u128::from(index) >= owned) {
            return None;
        }
        end = u128::from(neighbour.receive.end);
    }
    let ascend = all.windows(2).all(|two| two[0].rank < two[1].rank);
    (ascend && end < u128::from(u32::MAX) && end <= u128::from(input.global)).then_some((end - owned) as usize)
}

/// Maps are accepted as by hand, and their counts are those by hand.
pub fn map(data: &[u8]) -> bool {
    let Ok(input) = input(data) else { return false };
    match (Map::new(input.global, input.owned, input.neighbours.clone()), ghosts(&input)) {
        (Ok(map), Some(ghosts)) => {
            assert_eq!((map.owned_count(), map.ghost_count()), (input.owned, ghosts));
            assert_eq!((map.local_count(), map.global_count()), (input.owned + ghosts, input.global));
            assert_eq!(map.neighbours(), input.neighbours);
            true
        }
        (Err(error), None) => one_line(&error),
        (Ok(map), None) => panic!("a wrong map was accepted: {map:?}"),
        (Err(error), Some(_)) => panic!("refused: {error}"),
    }
}
