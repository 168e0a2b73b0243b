#!/usr/bin/env python3
"""Times calls that have next to nothing to do: `python bench_calls.py`. CPU time, median of nine runs of 2000 calls.

The rows of a GPU need none: arrays of NumPy say that they lie on one, as those of CuPy do, and the plan does nothing.
"""

import sys
import time
from pathlib import Path

import numpy as np

import minifenl
from minifenl import _gpu

sys.path.append(str(Path(__file__).parent / "tests"))
import test_gpu  # noqa: E402


class OnGpu:
    """An array that builds its interface at each access."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        dtype, place = self.array.dtype, (self.array.ctypes.data, False)
        interface = {"shape": self.array.shape, "typestr": dtype.str, "descr": dtype.descr, "data": place}
        return {**interface, "strides": None, "stream": 1, "version": 3}


class Idle:
    """A plan whose sums do nothing."""

    def sum_entries(self, values, out):
        pass


def report(name, call):
    times = []
    for _ in range(9):
        begin = time.process_time()
        for _ in range(2000):
            call()
        times.append((time.process_time() - begin) / 2000)
    print(f"{name:32} {1e6 * float(np.median(times)):6.1f} us")


def main():
    plan, one = minifenl.CooPlan([0], [0], threads=1), np.ones(1)
    matrix = plan.csr(one)
    report("CooPlan.csr", lambda: plan.csr(one))
    report("CooPlan.csr(out)", lambda: plan.csr(one, out=matrix))
    form = minifenl.Form(minifenl.Mesh(np.eye(4, 3, -1), [[0, 1, 2, 3]], threads=1), "poisson", source=1.0, threads=1)
    a, _ = form.assemble()
    report("Form.assemble", lambda: form.assemble())
    report("Form.assemble(out)", lambda: form.assemble(out=a))
    _gpu.GpuPlan, _gpu._load_nvrtc = test_gpu.StandIn, lambda: None
    plan = minifenl.CooPlan.from_elements(np.array([[0, 1, 2, 3]], np.int32), device="cuda")
    plan._gpu._plan = Idle()
    values, out = OnGpu(np.ones((1, 4, 4))), OnGpu(np.ones(16))
    report("GPU: csr_arrays(out)", lambda: plan.csr_arrays(values, out))
    report("GPU: the arrays' interfaces", lambda: (values.__cuda_array_interface__, out.__cuda_array_interface__))


main()
