//! Two hosts on one machine: network namespaces with a cable between them, each with a name of its own.
//!
//! Open MPI starts its daemon on the second host by an agent, as it would by ssh; ranks of different hosts exchange over TCP
//! and share no memory. Needs Linux, the command `ip` and the rights of root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// The hosts; they go when this is dropped.
pub struct Hosts {
    folder: tempfile::TempDir,
    /// Cables have fixed addresses, so tests take turns.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

/// Name of the namespace of a host, `a` or `b`.
fn namespace(host: char) -> String {
    format!("minifenl-{}-{host}", std::process::id())
}

/// Runs `ip` with the words of a line; the error is what it says.
fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip").args(line.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {line}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

impl Hosts {
    /// Makes two hosts, or says why this machine cannot have them.
    pub fn new() -> Result<Hosts, String> {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let hosts = Hosts { folder: tempfile::tempdir().unwrap(), _alone: alone };
        let [a, b] = ['a', 'b'].map(namespace);
        for host in [&a, &b] {
            ip(&format!("netns add {host}"))?;
        }
        ip(&format!("link add cable netns {a} type veth peer name cable netns {b}"))?;
        for (host, address) in [(&a, "10.99.77.1"), (&b, "10.99.77.2")] {
            ip(&format!("-n {host} addr add {address}/24 dev cable"))?;
            ip(&format!("-n {host} link set lo up"))?;
            ip(&format!("-n {host} link set cable up"))?;
        }
        let agent = hosts.agent();
        // Called as `agent HOST COMMAND...`.
        let text = format!(
            "#!/bin/sh\nshift\nexec ip netns exec {b} unshare --uts sh -c \"hostname minifenl-host-b && exec $*\"\n"
        );
        fs::write(&agent, text).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let unshared = Command::new("unshare").args(["--uts", "hostname", "minifenl-host-a"]).output();
        match unshared {
            Ok(output) if output.status.success() => Ok(hosts),
            other => Err(format!("unshare --uts: {other:?}")),
        }
    }

    fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// `mpirun` on the first host, with these numbers of ranks on the hosts; the program is to be added.
    pub fn mpirun(&self, ranks: [usize; 2]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespace('a'), "unshare", "--uts", "sh", "-c"]);
        command.args(["hostname minifenl-host-a && exec mpirun \"$@\"", "mpirun", "--oversubscribe"]);
        let agent = self.agent();
        for (key, value) in [
            ("plm_rsh_agent", agent.to_str().unwrap()),
            ("oob_tcp_if_include", "cable"),
            ("btl_tcp_if_include", "cable"),
            // Ranks of a failed job are killed at once.
            ("odls_base_sigkill_timeout", "0"),
        ] {
            command.args(["--mca", key, value]);
        }
        let [a, b] = ranks;
        let slots = format!("10.99.77.1:{a},10.99.77.2:{b}");
        command.args(["-n", &(a + b).to_string(), "--host", &slots]);
        support::own_session(&mut command);
        command
    }

    /// Takes the first host off the network, or puts it back.
    pub fn connect(&self, is_connected: bool) {
        let state = if is_connected { "up" } else { "down" };
        ip(&format!("-n {} link set cable {state}", namespace('a'))).unwrap();
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in ['a', 'b'] {
            let _ = ip(&format!("netns del {}", namespace(host)));
        }
    }
}
