//! Who asks a Master for a change or a log, and what he may have.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What somebody may ask for. Each of the rights includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, crate::Display)]
pub enum Rights {
    /// None.
    #[default]
    #[display("none")]
    None,
    /// To submit, and to end his own applications and cluster drivers and read their logs.
    #[display("own")]
    Own,
    /// To read the logs of all users, too. Source: Spark (`spark.ui.view.acls`).
    #[display("view")]
    View,
    /// To end the applications and cluster drivers of all users. Source: Spark (`spark.modify.acls`).
    #[display("modify")]
    Modify,
    /// To decommission Workers and to clear what the Master lists. Source: Spark (`spark.admin.acls`).
    #[display("admin")]
    Admin,
}

/// Who asks for a change or a log: a user and his host, such as `ann@host`. His rights are not in messages: the Master
/// finds out which ones the secret of the connection gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Requester {
    name: String,
    #[serde(skip)]
    rights: Rights,
}

impl Requester {
    #[must_use]
    pub fn new(name: impl Into<String>, rights: Rights) -> Self {
        Self { name: name.into(), rights }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name without its host.
    #[must_use]
    pub fn user(&self) -> &str {
        user_of(&self.name)
    }

    #[must_use]
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Whether he may end what belongs to this user, who may be named with a host.
    #[must_use]
    pub fn may_end(&self, owner: &str) -> bool {
        self.rights >= Rights::Modify || self.is_his(owner)
    }

    /// Whether he may read the logs of what belongs to this user, who may be named with a host.
    #[must_use]
    pub fn may_view(&self, owner: &str) -> bool {
        self.rights >= Rights::View || self.is_his(owner)
    }

    fn is_his(&self, owner: &str) -> bool {
        self.rights >= Rights::Own && self.user() == user_of(owner)
    }

    /// Gives the requester the rights of a connection, and the name of the user whom its secret proves. His host stays.
    pub fn prove(&mut self, user: Option<&str>, rights: Rights) {
        self.rights = rights;
        if let Some(user) = user {
            rename(&mut self.name, user);
        }
    }
}

/// The user in a name such as `ann` or `ann@host`.
fn user_of(name: &str) -> &str {
    name.rsplit_once('@').map_or(name, |(user, _)| user)
}

/// Puts this user in the place of the one in a name such as `ann@host`, whose host stays.
pub(super) fn rename(name: &mut String, user: &str) {
    *name = match name.rsplit_once('@') {
        Some((_, host)) => format!("{user}@{host}"),
        None => user.to_owned(),
    };
}

impl fmt::Display for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A requester who may only ask. Messages come like this from a connection.
impl From<&str> for Requester {
    fn from(name: &str) -> Self {
        Self::new(name, Rights::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn rights_come_from_the_connection_and_never_from_a_message() {
        let admin = Requester::new("ann@host", Rights::Admin);
        let bytes = wire::encode(&admin, 100).expect("it is short");
        assert_eq!(bytes, wire::encode(&"ann@host", 100).expect("it is short"));
        let mut read: Requester = wire::decode(&bytes).expect("it is sound");
        assert_eq!((read.name(), read.rights()), ("ann@host", Rights::None));
        read.prove(Some("bob"), Rights::Own);
        assert_eq!((read.name(), read.user(), read.rights()), ("bob@host", "bob", Rights::Own));
        read.prove(None, Rights::Modify);
        assert_eq!((read.name(), read.rights()), ("bob@host", Rights::Modify));
        let mut nobody = Requester::default();
        nobody.prove(Some("ann"), Rights::Own);
        assert_eq!(nobody.name(), "ann");
    }

    #[test]
    fn a_user_may_end_and_read_what_is_his_own() {
        // What is his own, and what is of others: may he end it, and may he read it?
        for (rights, own, others) in [
            (Rights::None, [false, false], [false, false]),
            (Rights::Own, [true, true], [false, false]),
            (Rights::View, [true, true], [false, true]),
            (Rights::Modify, [true, true], [true, true]),
            (Rights::Admin, [true, true], [true, true]),
        ] {
            let ann = Requester::new("ann@host", rights);
            for (owner, may) in [("ann", own), ("ann@there", own), ("bob", others), ("bob@host", others)] {
                assert_eq!([ann.may_end(owner), ann.may_view(owner)], may, "{rights} {owner}");
            }
        }
    }
}
