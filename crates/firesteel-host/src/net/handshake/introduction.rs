//! The data that one side sends in its handshakes, and its keys.

use std::sync::Arc;

use firesteel_protocol::messages::Rights;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{Hello, Role};

use super::opening::NotAdmitted;
use crate::net::encryption::key::{Key, KeyName};
use crate::net::encryption::keyring::{Admitted, Keyring, Transition, joining};

/// The hello of a side, and its keys. With keys, the side connects only to peers that know the same secret.
#[derive(Clone, Debug)]
pub struct Introduction {
    pub(super) hello: Hello,
    /// The keys of the cluster.
    keyring: Option<Keyring>,
    /// The key between a driver and its executors, and Workers that fetch files from it.
    application: Option<Arc<Key>>,
}

impl Introduction {
    /// An introduction with this role and name, without keys.
    #[must_use]
    pub fn new(role: Role, name: impl Into<String>) -> Self {
        Hello::new(role, name).into()
    }

    /// This introduction with the keys of a cluster. `None`: connections to it are in the clear.
    #[must_use]
    pub fn with_keys(self, keyring: Option<Keyring>) -> Self {
        Self { keyring, ..self }
    }

    /// This introduction with the secret of an application. `None`: connections to its driver are in the clear.
    #[must_use]
    pub fn with_application(self, secret: Option<&Secret>) -> Self {
        Self { application: secret.map(|secret| Arc::new(Key::of(secret))), ..self }
    }

    #[cfg(test)]
    pub(in crate::net) fn role(&self) -> Role {
        self.hello.role
    }

    /// Whether this side has a secret that peers have to know.
    pub(super) fn accepts_secured(&self) -> bool {
        match self.hello.role {
            Role::Driver => self.application.is_some(),
            _ => self.keyring.is_some(),
        }
    }

    /// The time in which this side accepts peers without a secret, too.
    pub(super) fn transition(&self) -> Option<&Transition> {
        self.keyring.as_ref().filter(|_| self.hello.role != Role::Driver)?.transition()
    }

    /// The key for dialling a peer with one of these roles. `None`: the connection is in the clear.
    ///
    /// # Errors
    /// This side has keys, and none is for this.
    pub(super) fn to_dial(&self, wanted: &[Role]) -> Result<Option<Key>, NotAdmitted> {
        match (wanted.first(), &self.application, &self.keyring) {
            (Some(Role::Driver), application, _) => Ok(application.as_deref().cloned()),
            (Some(wanted), _, Some(keyring)) => {
                let key = keyring.to_dial(self.hello.role, *wanted);
                key.map(Some).ok_or(NotAdmitted::OtherPurpose { wanted: *wanted })
            }
            (Some(Role::Master), _, None) if self.hello.role == Role::Joining => Ok(Some(joining().clone())),
            (_, _, None) | (None, ..) => Ok(None),
        }
    }

    /// The key with this name, and whom it admits here.
    pub(super) fn accepted(&self, name: KeyName) -> Option<(Key, Admitted)> {
        match self.hello.role {
            Role::Driver => {
                let key = self.application.as_deref().filter(|key| key.name == name)?;
                let roles = &[Role::Executor, Role::Worker];
                Some((key.clone(), Admitted { roles, user: None, rights: Rights::None }))
            }
            role => self.keyring.as_ref()?.accepted(role, name),
        }
    }
}

impl From<Hello> for Introduction {
    fn from(hello: Hello) -> Self {
        Self { hello, keyring: None, application: None }
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
