//! Labels of lines in a column right of the axes: near the ends of their lines, in their order, none over another.

/// From one label to the next.
pub(crate) const ROW: f64 = 18.0;

/// Heights of the labels of lines that end at these heights: between `top` and `bottom`, at least a row apart. The range must
/// hold all labels.
pub(crate) fn beside(ends: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|&a, &b| ends[a].total_cmp(&ends[b]));
    let mut heights = ends.to_vec();
    // Labels that would overlap form a block, which is centred about its ends.
    let mut blocks: Vec<(f64, Vec<usize>)> = Vec::new();
    for &i in &order {
        let mut next = (ends[i], vec![i]);
        while let Some((centre, members)) = blocks.last() {
            let room = 0.5 * ROW * (members.len() + next.1.len()) as f64;
            if next.0 - centre >= room {
                break;
            }
            let count = [members.len() as f64, next.1.len() as f64];
            let joint = (centre * count[0] + next.0 * count[1]) / (count[0] + count[1]);
            let mut members = members.clone();
            members.append(&mut next.1);
            next = (joint, members);
            blocks.pop();
        }
        blocks.push(next);
    }
    for (centre, members) in blocks {
        for (at, &i) in members.iter().enumerate() {
            heights[i] = centre + ROW * (at as f64 - 0.5 * (members.len() as f64 - 1.0));
        }
    }
    // Into the room, from above and then from below.
    let mut free = top;
    for &i in &order {
        heights[i] = heights[i].max(free);
        free = heights[i] + ROW;
    }
    let mut free = bottom;
    for &i in order.iter().rev() {
        heights[i] = heights[i].min(free);
        free = heights[i] - ROW;
    }
    heights
}

#[test]
fn labels_keep_their_order_and_distance() {
    let heights = beside(&[50.0, 10.0, 49.0, 200.0], 0.0, 300.0);
    assert_eq!(heights, [58.5, 10.0, 40.5, 200.0]);
    // Pressed against either end.
    assert_eq!(beside(&[0.0, 0.0, 1.0], 10.0, 300.0), [10.0, 28.0, 46.0]);
    assert_eq!(beside(&[100.0, 99.0], 0.0, 90.0), [90.0, 72.0]);
    let mut state = 1u64;
    for _ in 0..2000 {
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let ends: Vec<f64> = (0..12).map(|_| 300.0 * random()).collect();
        let heights = beside(&ends, 0.0, 300.0);
        for (a, b) in (0..12).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert!((heights[a] - heights[b]).abs() >= ROW - 1e-9, "{ends:?} {heights:?}");
            assert!((heights[a] < heights[b]) == (ends[a] < ends[b]) || ends[a] == ends[b], "{ends:?} {heights:?}");
        }
        assert!(heights.iter().all(|height| (-1e-9..=300.0 + 1e-9).contains(height)), "{heights:?}");
    }
}
