//! The variants that a deck names: each must be there, and a plot's must be measured, or a slip of the pen would be an empty picture.

use super::deck::{Group, SweepDeck, fits};
use super::peers::Peers;
use super::table::{LOOPS, SERIAL, THREADS};
#[cfg(feature = "cuda")]
use crate::contraction::Variant;
use crate::{Error, Result};

/// What a plot can draw.
const MEASURED: &str = "those that the deck's sweeps measure: ";

/// Refuses names and patterns that fit nothing: of a sweep no variant and no peer, of a plot nothing that the deck's sweeps
/// measure. A build without `cuda` does not know the names of a GPU's variants, so it refuses none.
///
/// # Errors
/// [`Error::Invalid`] with the word, where it stands and what there is.
pub(super) fn check(deck: &SweepDeck, peers: &impl Peers) -> Result<()> {
    if cfg!(not(feature = "cuda")) {
        return Ok(());
    }
    let mut all: Vec<&str> = gpu_variants();
    all.extend([LOOPS, SERIAL, THREADS]);
    all.extend([peers.host_names(), peers.gpu_names(), peers.absent_names()].concat());
    for (i, group) in deck.sweep.iter().enumerate() {
        let of = format!("sweep {}: variants", i + 1);
        group.variants.iter().try_for_each(|pattern| find(&of, pattern, "", &all, fits))?;
    }
    let mut measured: Vec<&str> = Vec::new();
    for name in deck.sweep.iter().flat_map(|group| measured_by(group, peers)) {
        if !measured.contains(&name) {
            measured.push(name);
        }
    }
    for plot in &deck.plot {
        let of = |field: &str| format!("plot {:?}: {field}", plot.name);
        plot.variants.iter().try_for_each(|pattern| find(&of("variants"), pattern, MEASURED, &measured, fits))?;
        // Speedups are over one variant, so its name is no pattern.
        plot.over
            .iter()
            .try_for_each(|over| find(&of("over"), over, MEASURED, &measured, |over, name| over == name))?;
    }
    Ok(())
}

/// An error unless one of the names fits.
fn find(of: &str, pattern: &str, whose: &str, names: &[&str], is_one: fn(&str, &str) -> bool) -> Result<()> {
    if names.iter().any(|name| is_one(pattern, name)) {
        return Ok(());
    }
    Err(Error::Invalid(format!("{of}: {pattern:?} fits none of {whose}{}", names.join(", "))))
}

/// All that has a row: what is named, and what runs unasked. Peers that this build lacks would have one in another.
fn measured_by(group: &Group, peers: &impl Peers) -> Vec<&'static str> {
    let mut names = Vec::new();
    if !group.layouts.is_empty() {
        names.extend(gpu_variants().iter().filter(|name| group.variants.iter().any(|pattern| fits(pattern, name))));
        names.extend(peers.gpu_names());
    }
    if !group.host_layouts.is_empty() {
        names.extend([LOOPS, SERIAL, THREADS]);
        names.extend(peers.host_names());
    }
    names.extend(peers.absent_names());
    names
}

#[cfg(feature = "cuda")]
fn gpu_variants() -> Vec<&'static str> {
    Variant::ALL.iter().map(|(_, name)| *name).collect()
}

#[cfg(not(feature = "cuda"))]
fn gpu_variants() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sweep::NoPeers;

    /// A sweep of `variants` with lines of `drawn`, over `over`.
    fn parse(variants: &str, more: &str, drawn: &str, over: &str, peers: &impl Peers) -> Result<SweepDeck> {
        let text = format!(
            "name='x'\ntitle=''\n[[sweep]]\nkernels=['data_data_scalar']\nvariants=[{variants}]\nprecisions=['f64']\n\
             layouts=['left']\n{more}\npoints=[8]\nmemory_mib=[1]\n\
             [[plot]]\nname='p'\ntitle=''\nkind='lines'\nvariants=[{drawn}]\n{over}"
        );
        SweepDeck::parse(&text, peers)
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn names_that_fit_nothing_are_refused() {
        for (variants, more, drawn, over, part) in [
            ("'magic'", "", "'serial'", "", "sweep 1: variants: \"magic\" fits none of auto, "),
            ("'flat', 'tyle-*'", "", "'flat'", "", "sweep 1: variants: \"tyle-*\" fits none of auto, "),
            (
                "'flat'",
                "",
                "'flat', 'magic'",
                "",
                "plot \"p\": variants: \"magic\" fits none of those that the deck's sweeps measure: flat, ",
            ),
            (
                "'flat'",
                "",
                "'tile16'",
                "",
                "\"tile16\" fits none of those that the deck's sweeps measure: flat, loops, serial, threads",
            ),
            ("'flat'", "host_layouts=[]", "'serial'", "", "measure: flat"),
            ("'flat'", "", "'flat'", "over='lops'", "plot \"p\": over: \"lops\" fits none of those"),
            ("'*'", "", "'flat'", "over='fl*'", "plot \"p\": over: \"fl*\""),
            ("'cublas-gemm'", "", "'serial'", "", "\"cublas-gemm\" fits none"),
        ] {
            let error = parse(variants, more, drawn, over, &NoPeers).unwrap_err().to_string();
            assert!(error.contains(part) && error.lines().count() == 1, "{error}");
        }
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn names_that_cannot_be_known_are_not_refused() {
        parse("'magic'", "", "'magic'", "over='lops'", &NoPeers).unwrap();
    }

    #[test]
    fn variants_the_host_and_peers_are_known() {
        struct Some;
        impl Peers for Some {
            fn host_names(&self) -> &'static [&'static str] {
                &["product"]
            }
            fn gpu_names(&self) -> &'static [&'static str] {
                &["library-a", "library-b"]
            }
            fn absent_names(&self) -> &'static [&'static str] {
                &["elsewhere"]
            }
        }
        parse("'flat', 'tile*'", "", "'tile-*', 'loops', 'product', 'library-*', 'elsewhere'", "over='flat'", &Some)
            .unwrap();
        parse("'*', 'serial', 'library-b'", "host_layouts=[]", "'dmma*'", "over='library-a'", &Some).unwrap();
        assert!(parse("", "", "'threads'", "over='serial'", &NoPeers).is_ok());
    }
}
