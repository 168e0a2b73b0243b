//! A peer in Python: a process that reads arrays once and answers each empty line with numbers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process.
pub struct Peer {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts `python3` (MINIFENL_PYTHON names another) with a program, the folder of its arrays and the number of nodes, and prints the
    /// line with its versions; `None` if it does not run.
    pub fn start(program: &str, folder: &std::path::Path, nodes: usize) -> Option<Self> {
        let python = std::env::var("MINIFENL_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut child = Command::new(python)
            .args(["-c", program, &format!("{}/", folder.display()), &nodes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (ask, answers) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Peer { child, ask, answers };
        println!("{}", peer.line()?.trim());
        Some(peer)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok().filter(|&bytes| bytes > 0).map(|_| line)
    }

    /// Asks for one conversion and returns its `N` numbers.
    pub fn convert<const N: usize>(&mut self) -> Option<[f64; N]> {
        writeln!(self.ask).ok()?;
        let numbers: Vec<f64> = self.line()?.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        numbers.try_into().ok()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
