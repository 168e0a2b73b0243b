# Spack 1.0 or later: spack repo add packaging/spack && spack install minifenl@main +mpi

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Minifenl(CargoPackage):
    """Parallel assembly and solution of finite-element linear systems on threads, NVIDIA GPUs and MPI ranks, measured."""

    # Only a maintainer can fill these: homepage, git, the archive's url with its checksum.
    # homepage = "https://HOST/OWNER/minifenl"
    # git = "https://HOST/OWNER/minifenl.git"
    # version("0.1.0", sha256="...")
    version("main", branch="main")

    license("MIT OR Apache-2.0")

    variant("mpi", default=True, description="Ranks of MPI")
    variant("cuda", default=True, description="NVIDIA GPUs; driver and NVRTC are loaded at run time")

    depends_on("rust@1.89:", type="build")
    depends_on("c", type="build")
    depends_on("mpi", when="+mpi")
    # Bindings of MPI are generated when it is built.
    depends_on("llvm+clang", type="build", when="+mpi")
    depends_on("cuda@13:", type="run", when="+cuda")

    @property
    def build_args(self):
        features = ["cli"] + [name for name in ("mpi", "cuda") if self.spec.satisfies(f"+{name}")]
        return ["--no-default-features", "--features", ",".join(features)]

    @property
    def check_args(self):
        return ["--lib"]

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["cuda"].prefix.lib64)

    def test_small_problem(self):
        """solve and verify a small problem"""
        which("minifenl")("--nodes", "16", "--device", "cpu")
