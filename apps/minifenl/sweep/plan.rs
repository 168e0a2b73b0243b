//! What a sweep does: a checked deck for each size and value, and the files to write.

use super::Form;
use crate::args::Args;
use crate::args::commands::{Command, Sweep};
use crate::output::{Output, of_flag};
use clap::error::ErrorKind;
use minifenl::error::count;
use minifenl::files::{NamedFile, check_distinct};
use minifenl::run::Deck;
use minifenl::run::program;
use minifenl::{Error, Result};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The runs of a sweep.
pub struct Plan {
    pub trials: usize,
    /// Flag and value of `--compare`, or one empty text.
    pub values: Vec<String>,
    /// The decks of each size, one for each value.
    pub sizes: Vec<Vec<Deck>>,
    outputs: Vec<(&'static str, PathBuf, Form)>,
    input: Option<NamedFile>,
}

impl Plan {
    /// Makes all decks, so that a mistake in any of them is found before the work.
    pub fn new(sweep: &Sweep) -> anyhow::Result<Self> {
        let (values, mut decks) = match &sweep.compare {
            None => (vec![String::new()], vec![decks(sweep)?]),
            Some((flag, values)) => {
                let of_value = |value: &String| {
                    let with = with(flag, value)?;
                    decks(&with).map_err(|error| match decks(sweep) {
                        // The mistake is none of the value's.
                        Err(same) if same.to_string() == error.to_string() => error,
                        _ => Error::Invalid(format!("--compare {flag}={value}: {error}")).into(),
                    })
                };
                let decks = values.iter().map(of_value).collect::<anyhow::Result<_>>()?;
                (values.iter().map(|value| format!("{flag}={value}")).collect(), decks)
            }
        };
        let report = decks[0][0].run.report.clone();
        decks.iter_mut().flatten().for_each(|deck| deck.run.report = None);
        if let Some(same) = (1..decks.len()).find(|&at| decks[..at].contains(&decks[at])) {
            return Err(Error::Invalid(format!("--compare: {} changes no run", values[same])).into());
        }
        let sizes = (0..sweep.flags.nodes.len()).map(|at| decks.iter().map(|decks| decks[at].clone()).collect());
        let (csv, figure) = (sweep.csv.clone(), sweep.figure.clone());
        let outputs =
            [("--csv", csv, Form::Csv), ("--figure", figure, Form::Figure), ("--report", report, Form::Report)];
        let outputs = outputs.into_iter().filter_map(|(flag, path, form)| Some((flag, path?, form)));
        let (trials, input) = (sweep.trials.into(), sweep.flags.input());
        Ok(Plan { trials, values, sizes: sizes.collect(), outputs: outputs.collect(), input })
    }

    /// The files, checked before the work: each can be written, and no two are one.
    pub(super) fn files(&self) -> Result<Vec<(Output, Form)>> {
        let named = self.outputs.iter().map(|(flag, path, _)| (flag.to_string(), path.clone()));
        check_distinct(&self.input.iter().cloned().chain(named).collect::<Vec<_>>())?;
        self.outputs.iter().map(|(flag, path, form)| Ok((Output::create(flag, path)?, *form))).collect()
    }
}

/// The sweep for messages; ranks compare it.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sizes, trials) = (count(self.sizes.len(), "size"), count(self.trials, "trial"));
        write!(f, "a sweep of {sizes}, {trials}, {}", self.values.join(" "))?;
        self.outputs.iter().try_for_each(|(flag, path, _)| write!(f, " {flag} {}", path.display()))
    }
}

/// The sweep of this command line with one flag more.
fn with(flag: &str, value: &str) -> anyhow::Result<Box<Sweep>> {
    if flag == "nodes" {
        let text = format!("--compare nodes={value}: a sweep takes its sizes from --nodes, such as --nodes 16,32,64");
        return Err(Error::Invalid(text).into());
    }
    let mut words: Vec<OsString> = std::env::args_os().collect();
    words.push(format!("--{flag}={value}").into());
    let refused = |why: String| Error::Invalid(format!("--compare {flag}={value}: {why}"));
    let none = || refused(format!("--{flag} is no setting of a run"));
    let args = program::parse_from::<Args>(words).map_err(|error| match error.kind() {
        ErrorKind::ArgumentConflict if is_given(flag) => {
            let why = format!("--{flag} is given beside --compare; leave it out, as the sweep gives it each value");
            Error::Invalid(why)
        }
        _ => program::said(&error).map_or_else(|error| refused(error.to_string()), |_| none()),
    })?;
    match args.command {
        Some(Command::Sweep(sweep)) => Ok(sweep),
        _ => Err(none().into()),
    }
}

/// Whether the command line has a flag.
fn is_given(flag: &str) -> bool {
    let name = format!("--{flag}");
    let is_flag = |word: OsString| word.to_str().is_some_and(|word| word.split('=').next() == Some(&name));
    std::env::args_os().any(is_flag)
}

/// The checked decks of all sizes.
fn decks(sweep: &Sweep) -> anyhow::Result<Vec<Deck>> {
    let sizes = &sweep.flags.nodes;
    if sizes.is_empty() {
        return Err(Error::Invalid("--nodes: a sweep needs its sizes, such as 16,32,64".into()).into());
    }
    if let Some(twice) = (1..sizes.len()).find(|&at| sizes[..at].contains(&sizes[at])) {
        return Err(Error::Invalid(format!("--nodes: {} stands twice", sizes[twice])).into());
    }
    // Sizes that do not suit the elements are refused now, not when their turn comes.
    let checked = |deck: Deck| deck.nodes(1).map(|_| deck);
    let decks = sizes.iter().map(|&nodes| sweep.flags.deck_of(Some(nodes)).and_then(checked));
    let decks = decks.collect::<Result<Vec<Deck>>>().map_err(|error| of_flag("--input", error))?;
    let run = &decks[0].run;
    if let Some(path) = sweep.figure.as_ref().filter(|path| path.extension().is_none_or(|end| end != "svg")) {
        let text = format!("--figure: `{}`: give a name that ends with .svg", path.display());
        return Err(Error::Invalid(text).into());
    }
    let to_stdout = run.report.as_deref() == Some(Path::new("-"));
    let given = [("--vtk", run.vtk.is_some()), ("--append", run.append.is_some()), ("--report -", to_stdout)];
    if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let text = format!("{flag}: a sweep writes --csv, --figure and --report FILE; leave {flag} out");
        return Err(Error::Invalid(text).into());
    }
    Ok(decks)
}
