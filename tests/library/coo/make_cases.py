#!/usr/bin/env python3
"""Writes cases.txt: random triplets and the matrices that SciPy makes of them. Eight lines per case: title; rows and columns; i; j;
values; row offsets; columns; sums. Values are small whole numbers, so that sums are exact in any order.

    python3 tests/library/coo/make_cases.py > tests/library/coo/cases.txt        needs numpy and scipy
"""
import numpy
import scipy
import scipy.sparse

random = numpy.random.default_rng(7)


def case(title, rows, columns, i, j):
    values = random.integers(-9, 10, len(i)).astype(float)
    matrix = scipy.sparse.coo_matrix((values, (i, j)), shape=(rows, columns)).tocsr()
    matrix.sort_indices()
    for line in [[title], [rows, columns], i, j, values.astype(int), matrix.indptr, matrix.indices, matrix.data.astype(int)]:
        print(*line)


def pairs(rows, columns, count):
    return random.integers(0, rows, count), random.integers(0, columns, count)


case(f"SciPy {scipy.__version__}: square", 12, 12, *pairs(12, 12, 90))
case("wide", 5, 40, *pairs(5, 40, 120))
case("tall", 40, 3, *pairs(40, 3, 70))
case("few pairs, empty rows", 30, 30, *pairs(30, 30, 9))
case("one row", 1, 300, *pairs(1, 300, 400))
case("one entry", 4, 4, numpy.full(40, 2), numpy.full(40, 1))
case("no pairs", 3, 2, *pairs(3, 2, 0))
nodes = numpy.array([random.permutation(15)[:4] for _ in range(20)])
case("tetrahedra", 15, 15, numpy.repeat(nodes, 4, axis=1).ravel(), numpy.tile(nodes, (1, 4)).ravel())
