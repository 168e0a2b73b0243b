// The system that the peers solve, and their clock: -laplace(u) = 1 on the unit cube, u = 0 on its faces, trilinear hexahedra, rows of
// fixed nodes left out, and the right-hand side h^3.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thrust/device_vector.h>
#include <thrust/scan.h>

#define CHECK(call) \
    do { \
        if (int error = int(call)) { \
            fprintf(stderr, "%s: error %d\n", #call, error); \
            exit(1); \
        } \
    } while (0)

__host__ __device__ int at(int row, int inner, int axis) { return axis == 0 ? row % inner : axis == 1 ? row / inner % inner : row / inner / inner; }

// Counts the entries of a row, or writes its columns and values where they are given.
__global__ void entries(int inner, double h, const int* starts, int* counts, int* columns, double* values) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= inner * inner * inner) return;
    int found = 0;
    for (int slot = 0; slot < 27; slot++) {
        int offset[3] = {slot % 3 - 1, slot / 3 % 3 - 1, slot / 9 - 1}, column = 0, stride = 1;
        double stiffness[3], mass[3];
        bool is_inside = true;
        for (int axis = 0; axis < 3; axis++) {
            int to = at(row, inner, axis) + offset[axis];
            is_inside = is_inside && to >= 0 && to < inner;
            column += to * stride;
            stride *= inner;
            stiffness[axis] = offset[axis] ? -1 / h : 2 / h;
            mass[axis] = offset[axis] ? h / 6 : 4 * h / 6;
        }
        if (!is_inside) continue;
        if (columns) {
            columns[starts[row] + found] = column;
            values[starts[row] + found] = stiffness[0] * mass[1] * mass[2] + mass[0] * stiffness[1] * mass[2] + mass[0] * mass[1] * stiffness[2];
        }
        found++;
    }
    if (!columns) counts[row] = found;
}

template <class T>
T* raw(thrust::device_vector<T>& vector) { return thrust::raw_pointer_cast(vector.data()); }

double now() {
    cudaDeviceSynchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
