//! The data that one side sends in its handshakes.

use super::admission::{NONCE, Nonce, Pass};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{Hello, Role};

/// The hello of a side, and the secret of its local cluster, if there is one. With a secret, the side connects only to
/// peers that know the secret.
#[derive(Clone, Debug)]
pub struct Introduction {
    pub(super) hello: Hello,
    local_cluster: Option<Secret>,
}

impl Introduction {
    /// An introduction with this role and name, without a local cluster.
    #[must_use]
    pub fn new(role: Role, name: impl Into<String>) -> Self {
        Hello::new(role, name).into()
    }

    /// This introduction as part of the local cluster with this secret. `None`: no local cluster.
    #[must_use]
    pub fn in_local_cluster(self, secret: Option<Secret>) -> Self {
        Self { local_cluster: secret, ..self }
    }

    /// The pass for a new connection to this port. `None`: this side is not part of a local cluster.
    ///
    /// # Panics
    /// The operating system has no random source.
    pub(super) fn pass(&self, port: u16) -> Option<Pass> {
        let secret = self.local_cluster.clone()?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).expect("the operating system has random bytes");
        Some(Pass { secret, port, nonce: Nonce(nonce) })
    }
}

impl From<Hello> for Introduction {
    fn from(hello: Hello) -> Self {
        Self { hello, local_cluster: None }
    }
}

impl From<&str> for Introduction {
    fn from(name: &str) -> Self {
        Self::new(Role::Client, name)
    }
}

impl From<&String> for Introduction {
    fn from(name: &String) -> Self {
        Self::new(Role::Client, name.as_str())
    }
}
