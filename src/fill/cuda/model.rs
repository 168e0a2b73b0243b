//! Models on a GPU: refused. A GPU assembles the heat equation on `hex8`.

use crate::element::equations::Model;
use crate::fill::{AssembleModel, FieldErrors, FieldOn, Sample, StoredSystem, Strategy};
use crate::graph::Graph;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::{Error, Result};
use std::convert::Infallible;

fn refused<T>(operation: &str) -> Result<T> {
    Err(Error::Invalid(format!("{operation}: a GPU assembles the heat equation on hex8 only; expected a host space")))
}

impl AssembleModel for Cuda {
    type ModelAssembly = Infallible;

    fn dof_graph(&self, nodes: Graph<CudaMemory>, dofs: usize) -> Result<Graph<CudaMemory>> {
        if dofs == 1 { Ok(nodes) } else { refused("dof_graph") }
    }

    fn model_assembly(
        &self,
        _: Strategy,
        _: &Model,
        _: FieldOn<'_, CudaMemory>,
        _: &StoredSystem<Cuda>,
    ) -> Result<Infallible> {
        refused("model_assembly")
    }

    fn assemble_model(
        &self,
        assembly: &mut Infallible,
        _: &CudaArray<[f64; 3]>,
        _: &CudaArray<f64>,
        _: &mut StoredSystem<Cuda>,
        _: &mut CudaArray<f64>,
    ) -> Result<()> {
        match *assembly {}
    }

    fn model_stored_bytes(assembly: &Infallible) -> u64 {
        match *assembly {}
    }

    fn check_elements(&self, _: FieldOn<'_, CudaMemory>) -> Result<()> {
        refused("check_elements")
    }

    fn field_errors(
        &self,
        _: FieldOn<'_, CudaMemory>,
        _: usize,
        _: usize,
        _: &CudaArray<f64>,
        _: Sample<'_>,
    ) -> Result<FieldErrors> {
        refused("field_errors")
    }
}
