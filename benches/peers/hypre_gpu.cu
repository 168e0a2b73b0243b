// BoomerAMG of hypre on a GPU, for the system of benches/solver_peers.py: -laplace(u) = 1 on the unit cube, u = 0 on its faces, trilinear
// hexahedra, rows of fixed nodes left out. CG to ||b - A x|| <= 1e-8 ||b||, timed from the assembled matrix to the solution.
//
//     cmake -S hypre/src -B hypre/build -DCMAKE_BUILD_TYPE=Release -DHYPRE_ENABLE_CUDA=ON -DHYPRE_ENABLE_MPI=OFF -DCMAKE_CUDA_ARCHITECTURES=90
//     cmake --build hypre/build -j
//     nvcc -O3 -arch=sm_90 -Ihypre/build -Ihypre/src $(find hypre/src -maxdepth 1 -type d -printf '-I%p ') benches/peers/hypre_gpu.cu
//         -o hypre_gpu hypre/build/libHYPRE.a -lcusparse -lcublas -lcurand -lcusolver
//     ./hypre_gpu CELLS
//
// Options of BoomerAMG are those that its manual advises for GPUs: PMIS coarsening, extended+i interpolation with at most four entries per
// row, strong threshold 0.5 in three dimensions, two sweeps of l1-Jacobi or Chebyshev smoothing, stored transposes; with aggressive
// coarsening on the first level and without. Every row is the second of two runs in one process.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_parcsr_mv.h>
#include <HYPRE_utilities.h>
#include "cube.cuh"
#include <cmath>
#include <thrust/sequence.h>

HYPRE_IJVector vector_of(int rows, thrust::device_vector<int>& index, double value) {
    HYPRE_IJVector vector;
    thrust::device_vector<double> values(rows, value);
    CHECK(HYPRE_IJVectorCreate(MPI_Comm(0), 0, rows - 1, &vector));
    CHECK(HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR));
    CHECK(HYPRE_IJVectorInitialize_v2(vector, HYPRE_MEMORY_DEVICE));
    CHECK(HYPRE_IJVectorSetValues(vector, rows, raw(index), raw(values)));
    CHECK(HYPRE_IJVectorAssemble(vector));
    return vector;
}

int main(int count, char** args) {
    int cells = count > 1 ? atoi(args[1]) : 65, inner = cells - 1, rows = inner * inner * inner;
    double h = 1.0 / cells;
    CHECK(HYPRE_Initialize());
    CHECK(HYPRE_DeviceInitialize());
    CHECK(HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE));
    CHECK(HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE));
    CHECK(HYPRE_SetSpGemmUseVendor(0));
    CHECK(HYPRE_SetSpMVUseVendor(1));
    CHECK(HYPRE_SetUseGpuRand(1));

    thrust::device_vector<int> starts(rows), counts(rows), index(rows);
    thrust::sequence(index.begin(), index.end());
    entries<<<(rows + 255) / 256, 256>>>(inner, h, nullptr, raw(counts), nullptr, nullptr);
    thrust::exclusive_scan(counts.begin(), counts.end(), starts.begin());
    int stored = starts.back() + counts.back();
    HYPRE_IJMatrix matrix;
    {
        thrust::device_vector<int> columns(stored);
        thrust::device_vector<double> values(stored);
        entries<<<(rows + 255) / 256, 256>>>(inner, h, raw(starts), nullptr, raw(columns), raw(values));
        CHECK(HYPRE_IJMatrixCreate(MPI_Comm(0), 0, rows - 1, 0, rows - 1, &matrix));
        CHECK(HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR));
        CHECK(HYPRE_IJMatrixInitialize_v2(matrix, HYPRE_MEMORY_DEVICE));
        CHECK(HYPRE_IJMatrixSetValues(matrix, rows, raw(counts), raw(index), raw(columns), raw(values)));
        CHECK(HYPRE_IJMatrixAssemble(matrix));
    }
    HYPRE_ParCSRMatrix a;
    CHECK(HYPRE_IJMatrixGetObject(matrix, (void**)&a));
    printf("hypre %s, %d unknowns, %d entries\n", HYPRE_RELEASE_VERSION, rows, stored);
    printf("| smoother | aggressive levels | set-up | solve | total | iterations | true residual |\n|---|---|---|---|---|---|---|\n");

    for (int smoother : {18, 16}) {
        for (int aggressive : {0, 1}) {
            for (int run = 0; run < 2; run++) {
                HYPRE_IJVector bs = vector_of(rows, index, h * h * h), xs = vector_of(rows, index, 0.0);
                HYPRE_ParVector b, x;
                CHECK(HYPRE_IJVectorGetObject(bs, (void**)&b));
                CHECK(HYPRE_IJVectorGetObject(xs, (void**)&x));
                HYPRE_Solver amg, pcg;
                double start = now();
                CHECK(HYPRE_BoomerAMGCreate(&amg));
                CHECK(HYPRE_BoomerAMGSetCoarsenType(amg, 8));
                CHECK(HYPRE_BoomerAMGSetInterpType(amg, 6));
                CHECK(HYPRE_BoomerAMGSetPMaxElmts(amg, 4));
                CHECK(HYPRE_BoomerAMGSetStrongThreshold(amg, 0.5));
                CHECK(HYPRE_BoomerAMGSetAggNumLevels(amg, aggressive));
                CHECK(HYPRE_BoomerAMGSetAggInterpType(amg, 5));
                CHECK(HYPRE_BoomerAMGSetRelaxType(amg, smoother));
                CHECK(HYPRE_BoomerAMGSetNumSweeps(amg, smoother == 18 ? 2 : 1));
                CHECK(HYPRE_BoomerAMGSetKeepTranspose(amg, 1));
                CHECK(HYPRE_BoomerAMGSetTol(amg, 0.0));
                CHECK(HYPRE_BoomerAMGSetMaxIter(amg, 1));
                CHECK(HYPRE_ParCSRPCGCreate(MPI_Comm(0), &pcg));
                CHECK(HYPRE_PCGSetTol(pcg, 1e-8));
                CHECK(HYPRE_PCGSetTwoNorm(pcg, 1));
                CHECK(HYPRE_PCGSetMaxIter(pcg, 500));
                CHECK(HYPRE_PCGSetPrecond(pcg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg));
                CHECK(HYPRE_ParCSRPCGSetup(pcg, a, b, x));
                double middle = now();
                CHECK(HYPRE_ParCSRPCGSolve(pcg, a, b, x));
                double end = now(), norm = 0, of_b = 0;
                int iterations = 0;
                CHECK(HYPRE_PCGGetNumIterations(pcg, &iterations));
                CHECK(HYPRE_ParVectorInnerProd(b, b, &of_b));
                CHECK(HYPRE_ParCSRMatrixMatvec(-1.0, a, x, 1.0, b));
                CHECK(HYPRE_ParVectorInnerProd(b, b, &norm));
                if (run) {
                    printf("| %s | %d | %.4f | %.4f | %.4f | %d | %.1e |\n", smoother == 18 ? "l1-Jacobi" : "Chebyshev", aggressive,
                           middle - start, end - middle, end - start, iterations, sqrt(norm / of_b));
                    fflush(stdout);
                }
                HYPRE_ParCSRPCGDestroy(pcg);
                HYPRE_BoomerAMGDestroy(amg);
                HYPRE_IJVectorDestroy(bs);
                HYPRE_IJVectorDestroy(xs);
            }
        }
    }
    HYPRE_IJMatrixDestroy(matrix);
    HYPRE_Finalize();
}
