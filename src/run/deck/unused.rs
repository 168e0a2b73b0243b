//! Settings that change nothing in a run: the run says so, once.

use super::{Choice, Deck, Forcing, RowLanes, with_flag};
use crate::contraction::Variant;
use crate::fill::Kernel;
use crate::space::Scan;
use crate::sparse::Format;

impl Deck {
    /// Names the settings of this deck without effect on a run of `ran`, the deck with its choices made, on so many ranks.
    pub(in crate::run) fn without_effect(&self, ran: &Deck, on_host: bool, ranks: usize) -> Option<String> {
        let kernel = ran.element_kernel();
        let (has_worksets, no_worksets) = (kernel == Kernel::Intrepid, format!("kernel {kernel} has no worksets"));
        let is_alone = ranks == 1;
        let shares_rows = !on_host && ran.matrix.format.given().is_none_or(|format| format == Format::Crs);
        let rows = [
            ("mesh.imbalance", is_alone && self.mesh.imbalance != 0.0, "one rank has the whole box"),
            ("run.halo", is_alone && self.run.halo != Choice::Auto, "one rank exchanges nothing"),
            ("run.timeout", is_alone && self.run.timeout.is_some(), "one rank waits for no other"),
            ("fill.workset", !has_worksets && self.fill.workset.is_some(), &*no_worksets),
            ("fill.layout", !has_worksets && self.fill.layout != Choice::Auto, &no_worksets),
            ("fill.variant", !has_worksets && self.fill.variant != Variant::Auto, &no_worksets),
            ("fill.variant", has_worksets && on_host && self.fill.variant != Variant::Auto, "only a GPU has variants"),
            ("graph.scan", !on_host && self.graph.scan == Scan::Serial, "the scan of a GPU is parallel"),
            ("matrix.lanes", !shares_rows && self.matrix.lanes != RowLanes::Auto, "only CRS on a GPU shares rows"),
            ("run.share_gpu", on_host && self.run.share_gpu, "the run is on the cpu"),
            (
                "newton.forcing",
                !ran.is_inexact() && self.newton.forcing == Choice::Given(Forcing::Adaptive),
                "only a nonlinear problem solved to a tolerance adapts it",
            ),
        ];
        let unused: Vec<String> = rows
            .into_iter()
            .filter(|(_, is_unused, _)| *is_unused)
            .map(|(key, _, why)| format!("{}: {why}", with_flag(key)))
            .collect();
        (!unused.is_empty()).then(|| format!("no effect: {}", unused.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Preset;
    use super::*;

    #[test]
    fn a_setting_without_effect_is_named_where_it_has_none() {
        let worksets = "[fill]\nworkset = 7\nlayout = \"left\"\n";
        let variant = "[fill]\nvariant = \"flat\"\n";
        let has_none =
            ["fill.workset (--workset): kernel fused has no worksets", "fill.layout (--layout): kernel fused"];
        for (text, fast, on_host, parts) in [
            ("", true, true, &[][..]),
            (worksets, false, true, &[]),
            (worksets, true, true, &has_none),
            (variant, true, false, &["fill.variant (--variant): kernel fused has no worksets"]),
            (variant, false, true, &["fill.variant (--variant): only a GPU has variants"]),
            (variant, false, false, &[]),
            ("[graph]\nscan = \"serial\"\n", false, true, &[]),
            ("[graph]\nscan = \"serial\"\n", false, false, &["graph.scan (--scan): the scan of a GPU is parallel"]),
            ("[run]\nshare_gpu = true\n", false, true, &["run.share_gpu (--share-gpu): the run is on the cpu"]),
            ("[run]\nshare_gpu = true\n", false, false, &[]),
            ("[newton]\nforcing = \"adaptive\"\n", false, true, &[]),
            (
                "[newton]\nforcing = \"adaptive\"\n[problem]\nkind = \"poisson\"\n",
                false,
                true,
                &["newton.forcing (--forcing): only a nonlinear problem"],
            ),
            ("[matrix]\nlanes = \"warp\"\n", false, false, &[]),
            ("[matrix]\nlanes = \"warp\"\n", false, true, &["matrix.lanes (--lanes): only CRS on a GPU"]),
            ("[matrix]\nlanes = 4\n", false, true, &["matrix.lanes (--lanes): only CRS on a GPU"]),
            ("[matrix]\nlanes = 4\n", true, false, &[]),
            (
                "[matrix]\nlanes = 4\nformat = \"pattern\"\n",
                true,
                false,
                &["matrix.lanes (--lanes): only CRS on a GPU"],
            ),
            ("[mesh]\nimbalance = 5\n", false, true, &["mesh.imbalance (--imbalance): one rank has the whole box"]),
            (
                "[run]\nhalo = \"mpi\"\ntimeout = 5\n",
                false,
                true,
                &["run.halo (--halo): one rank exchanges nothing", "run.timeout (--timeout): one rank waits"],
            ),
        ] {
            let mut deck = Deck::parse("deck", text).unwrap();
            if fast {
                deck.run.preset = Preset::Fast;
            }
            let found = deck.without_effect(&deck.resolved(), on_host, 1).unwrap_or_default();
            assert_eq!(found.is_empty(), parts.is_empty(), "{text}: {found}");
            assert!(parts.iter().all(|part| found.contains(part)), "{text}: {found}");
            let of_ranks = deck.without_effect(&deck.resolved(), on_host, 2).unwrap_or_default();
            assert!(!of_ranks.contains("one rank"), "{text}: {of_ranks}");
        }
    }
}
