//! The host on which a test's process runs.

use std::net::Ipv4Addr;
use std::process::Command;

/// A host on which processes of a test run: this machine, or a network namespace that the test has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    pub address: Ipv4Addr,
    /// The name of the host's network namespace. `None` for this machine.
    namespace: Option<&'static str>,
}

impl Host {
    /// This machine, at its loopback address.
    pub const LOOPBACK: Self = Self { address: Ipv4Addr::LOCALHOST, namespace: None };

    /// The network namespace of this name, as `ip netns add` creates it.
    pub const fn namespace(name: &'static str, address: Ipv4Addr) -> Self {
        Self { address, namespace: Some(name) }
    }

    pub fn name(&self) -> &'static str {
        self.namespace.unwrap_or("localhost")
    }

    /// Wraps a command so that it runs on this host. The started process becomes the program itself. The caller must
    /// set standard input and outputs afterwards.
    pub fn enter(&self, command: Command) -> Command {
        let Some(namespace) = self.namespace else { return command };
        let mut entering = Command::new("nsenter");
        entering.arg(format!("--net=/run/netns/{namespace}")).arg(command.get_program());
        entering.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => entering.env(name, value),
                None => entering.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            entering.current_dir(directory);
        }
        entering
    }
}
