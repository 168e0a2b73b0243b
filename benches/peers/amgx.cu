// AMGX on a GPU, for the system of hypre_gpu.cu: -laplace(u) = 1 on the unit cube, u = 0 on its faces, trilinear hexahedra, rows of
// fixed nodes left out. CG to ||b - A x|| <= 1e-8 ||b||, timed from the matrix in AMGX's own memory to the solution.
//
//     cmake -S AMGX -B AMGX/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_NO_MPI=ON -DCMAKE_CUDA_ARCHITECTURES=90
//     cmake --build AMGX/build -j --target amgxsh
//     nvcc -O3 -arch=sm_90 -IAMGX/include benches/peers/amgx.cu -o amgx -LAMGX/build -lamgxsh -Xlinker -rpath=AMGX/build
//     ./amgx CELLS
//
// The preconditioners are one V-cycle of classical levels (PMIS, distance-two interpolation with at most four entries per row) or of
// aggregates of eight, as in the configurations that AMGX ships. Every row is the second of two runs in one process.
#include <amgx_c.h>
#include "cube.cuh"
#include <cmath>
#include <string>

struct Levels {
    const char* name;
    const char* options;
};

const Levels LEVELS[] = {
    {"classical, l1-Jacobi",
     "\"algorithm\":\"CLASSICAL\",\"selector\":\"PMIS\",\"interpolator\":\"D2\",\"interp_max_elements\":4,\"max_row_sum\":0.9,\"strength_threshold\":0.5,"
     "\"presweeps\":2,\"postsweeps\":2,\"smoother\":{\"scope\":\"s\",\"solver\":\"JACOBI_L1\"}"},
    {"classical, one aggressive level, l1-Jacobi",
     "\"algorithm\":\"CLASSICAL\",\"selector\":\"PMIS\",\"interpolator\":\"D2\",\"interp_max_elements\":4,\"max_row_sum\":0.9,\"strength_threshold\":0.25,"
     "\"aggressive_levels\":1,\"presweeps\":2,\"postsweeps\":2,\"smoother\":{\"scope\":\"s\",\"solver\":\"JACOBI_L1\"}"},
    {"classical, one aggressive level, Chebyshev",
     "\"algorithm\":\"CLASSICAL\",\"selector\":\"PMIS\",\"interpolator\":\"D2\",\"interp_max_elements\":4,\"max_row_sum\":0.9,\"strength_threshold\":0.25,"
     "\"aggressive_levels\":1,\"presweeps\":1,\"postsweeps\":1,\"smoother\":{\"scope\":\"s\",\"solver\":\"CHEBYSHEV\",\"preconditioner\":{\"solver\":"
     "\"JACOBI_L1\",\"max_iters\":1},\"chebyshev_polynomial_order\":2,\"chebyshev_lambda_estimate_mode\":2}"},
    {"aggregates of 8, Jacobi",
     "\"algorithm\":\"AGGREGATION\",\"selector\":\"SIZE_8\",\"presweeps\":1,\"postsweeps\":2,\"smoother\":{\"scope\":\"s\",\"solver\":\"BLOCK_JACOBI\","
     "\"relaxation_factor\":0.8}"},
};

std::string configuration(const Levels& levels) {
    return std::string("{\"config_version\":2,\"solver\":{\"scope\":\"main\",\"solver\":\"PCG\",\"max_iters\":500,\"monitor_residual\":1,\"convergence\":"
                       "\"RELATIVE_INI\",\"tolerance\":1e-8,\"norm\":\"L2\",\"preconditioner\":{\"scope\":\"amg\",\"solver\":\"AMG\",\"cycle\":\"V\","
                       "\"max_iters\":1,\"max_levels\":30,\"min_coarse_rows\":32,\"coarse_solver\":\"DENSE_LU_SOLVER\",\"dense_lu_num_rows\":64,") +
           levels.options + "}}}";
}

void quiet(const char*, int) {}

int main(int count, char** args) {
    int cells = count > 1 ? atoi(args[1]) : 65, inner = cells - 1, rows = inner * inner * inner;
    double h = 1.0 / cells;
    CHECK(AMGX_initialize());
    CHECK(AMGX_register_print_callback(quiet));

    thrust::device_vector<int> starts(rows + 1, 0), counts(rows + 1, 0);
    entries<<<(rows + 255) / 256, 256>>>(inner, h, nullptr, raw(counts), nullptr, nullptr);
    thrust::exclusive_scan(counts.begin(), counts.end(), starts.begin());
    int stored = starts.back();
    thrust::device_vector<int> columns(stored);
    thrust::device_vector<double> values(stored), ones(rows, h * h * h), zeros(rows, 0.0);
    entries<<<(rows + 255) / 256, 256>>>(inner, h, raw(starts), nullptr, raw(columns), raw(values));
    char* version = nullptr;
    char *date = nullptr, *time = nullptr;
    CHECK(AMGX_get_build_info_strings(&version, &date, &time));
    printf("AMGX %s, %d unknowns, %d entries\n", version, rows, stored);
    printf("| levels | set-up | solve | total | iterations | true residual |\n|---|---|---|---|---|---|\n");

    for (const Levels& levels : LEVELS) {
        AMGX_config_handle config;
        AMGX_resources_handle resources;
        if (AMGX_config_create(&config, configuration(levels).c_str()) || AMGX_resources_create_simple(&resources, config)) {
            fprintf(stderr, "%s: not taken\n", levels.name);
            continue;
        }
        for (int run = 0; run < 2; run++) {
            AMGX_matrix_handle a;
            AMGX_vector_handle b, x;
            AMGX_solver_handle solver;
            CHECK(AMGX_matrix_create(&a, resources, AMGX_mode_dDDI));
            CHECK(AMGX_vector_create(&b, resources, AMGX_mode_dDDI));
            CHECK(AMGX_vector_create(&x, resources, AMGX_mode_dDDI));
            CHECK(AMGX_matrix_upload_all(a, rows, stored, 1, 1, raw(starts), raw(columns), raw(values), nullptr));
            CHECK(AMGX_vector_upload(b, rows, 1, raw(ones)));
            CHECK(AMGX_vector_upload(x, rows, 1, raw(zeros)));
            double start = now();
            CHECK(AMGX_solver_create(&solver, resources, AMGX_mode_dDDI, config));
            CHECK(AMGX_solver_setup(solver, a));
            double middle = now();
            CHECK(AMGX_solver_solve(solver, b, x));
            double end = now(), norm = 0;
            int iterations = 0;
            CHECK(AMGX_solver_get_iterations_number(solver, &iterations));
            CHECK(AMGX_solver_calculate_residual_norm(solver, a, b, x, &norm));
            if (run) {
                printf("| %s | %.4f | %.4f | %.4f | %d | %.1e |\n", levels.name, middle - start, end - middle, end - start, iterations,
                       norm / (h * h * h * sqrt(double(rows))));
                fflush(stdout);
            }
            AMGX_solver_destroy(solver);
            AMGX_vector_destroy(x);
            AMGX_vector_destroy(b);
            AMGX_matrix_destroy(a);
        }
        AMGX_resources_destroy(resources);
        AMGX_config_destroy(config);
    }
    CHECK(AMGX_finalize());
}
