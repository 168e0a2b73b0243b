// Expands a graph of nodes to several degrees of freedom (dofs) per node; launched by src/graph/cuda/dofs.rs. Component a of node
// i is dof D i + a. src/graph/dofs.rs defines rows, columns and positions.

constexpr int THREADS = 256;

// row_map of the dofs: node i has D rows of D times its entries. longest = entries of the longest row of a node; zero on entry. One
// thread per node, and one for the end.
KERNEL __launch_bounds__(THREADS) dof_rows(u64 rows, u32 dofs, const u64* of_nodes, u64* row_map, u32* longest) {
    u64 row = thread_index();
    u32 length = 0;
    if (row < rows) {
        u64 begin = __ldg(of_nodes + row);
        length = u32(__ldg(of_nodes + row + 1) - begin);
        for (u32 a = 0; a < dofs; a++) row_map[dofs * row + a] = dofs * (dofs * begin + u64(a) * length);
    } else if (row == rows) {
        row_map[dofs * rows] = u64(dofs) * dofs * __ldg(of_nodes + rows);
    }
    length = warp_max(length);
    if (lane_index() == 0 && length > 0) atomicMax(longest, length);
}

// Columns of the dofs' rows. One warp per node.
KERNEL __launch_bounds__(THREADS) dof_columns(u64 rows, u32 dofs, const u64* of_nodes, const u32* columns, u32* entries) {
    u64 row = thread_index() / WARP;
    if (row >= rows) return;
    u64 begin = __ldg(of_nodes + row), length = dofs * (__ldg(of_nodes + row + 1) - begin);
    u32* own = entries + u64(dofs) * dofs * begin;
    for (u64 k = lane_index(); k < length; k += WARP) {
        u32 column = dofs * __ldg(columns + (begin + k / dofs)) + u32(k % dofs);
        for (u32 a = 0; a < dofs; a++) own[a * length + k] = column;
    }
}

// all[slot, a] = D nodes[slot] + a.
KERNEL __launch_bounds__(THREADS) dof_nodes(u64 count, u32 dofs, const u32* nodes, u32* all) {
    u64 item = thread_index();
    if (item < count) all[item] = dofs * __ldg(nodes + item / dofs) + u32(item % dofs);
}

// positions[elem, D i + a, D j + b] = D old[elem, i, j] + b; a mark of a row that is not owned stays one. One thread per position.
KERNEL __launch_bounds__(THREADS)
    dof_positions(u64 count, u32 nn, u32 dofs, u32 old_width, void* old, u32 width, void* positions) {
    const Positions from{old, old_width}, to{positions, width};
    u64 item = thread_index();
    if (item >= count) return;
    u64 row = item / (dofs * nn);
    u32 at = u32(item % (dofs * nn)), position = from.get(row / dofs * nn + at / dofs);
    to.set(item, position == from.none() ? to.none() : dofs * position + at % dofs);
}
