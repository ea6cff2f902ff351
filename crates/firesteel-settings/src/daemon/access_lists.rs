//! The users who may read or end what belongs to others, and those who administer a cluster.
//!
//! Source: Spark's SecurityManager, 4.0.1, for the settings. There they have an effect with `spark.acls.enable` only.

use std::collections::BTreeSet;

use firesteel_protocol::messages::Rights;

use crate::application::list;
use crate::{Properties, keys};

/// The word for all users, or all groups.
const ALL: &str = "*";

/// The rights of users whose secrets prove their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLists {
    admins: AccessList,
    modifiers: AccessList,
    viewers: AccessList,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AccessList {
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl AccessLists {
    /// The lists of a Master. Without any, users have rights over what is their own.
    #[must_use]
    pub fn of(properties: &Properties) -> Self {
        let read = |users, groups| AccessList {
            users: list(properties, users).into_iter().collect(),
            groups: list(properties, groups).into_iter().collect(),
        };
        Self {
            admins: read(keys::ADMIN_ACLS, keys::ADMIN_ACLS_GROUPS),
            modifiers: read(keys::MODIFY_ACLS, keys::MODIFY_ACLS_GROUPS),
            viewers: read(keys::VIEW_ACLS, keys::VIEW_ACLS_GROUPS),
        }
    }

    /// Whether the groups of a user make a difference.
    #[must_use]
    pub fn name_groups(&self) -> bool {
        [&self.admins, &self.modifiers, &self.viewers].into_iter().any(|list| !list.groups.is_empty())
    }

    /// The rights of a user who is in these groups.
    #[must_use]
    pub fn rights(&self, user: &str, groups: &[String]) -> Rights {
        if self.admins.has(user, groups) {
            Rights::Admin
        } else if self.modifiers.has(user, groups) {
            Rights::Modify
        } else if self.viewers.has(user, groups) {
            Rights::View
        } else {
            Rights::Own
        }
    }
}

impl AccessList {
    fn has(&self, user: &str, groups: &[String]) -> bool {
        let all = [&self.users, &self.groups].into_iter().any(|names| names.contains(ALL));
        all || self.users.contains(user) || groups.iter().any(|group| self.groups.contains(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_the_rights_of_the_lists_and_otherwise_over_their_own() {
        let rights = |pairs: &[&str], user: &str, groups: &[&str]| {
            let lists = AccessLists::of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"));
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            lists.rights(user, &groups)
        };
        for (pairs, ann, bob) in [
            (&[][..], Rights::Own, Rights::Own),
            (&["spark.modify.acls= ann ,eve"], Rights::Modify, Rights::Own),
            (&["spark.modify.acls=*"], Rights::Modify, Rights::Modify),
            (&["spark.modify.acls.groups=staff"], Rights::Own, Rights::Modify),
            (&["spark.modify.acls.groups=*"], Rights::Modify, Rights::Modify),
            (&["spark.admin.acls=ann", "spark.modify.acls=ann,bob"], Rights::Admin, Rights::Modify),
            (&["spark.admin.acls.groups=staff,wheel"], Rights::Own, Rights::Admin),
            (&["spark.admin.acls=staff", "spark.modify.acls.groups=ann"], Rights::Own, Rights::Own),
            (&["spark.ui.view.acls=ann"], Rights::View, Rights::Own),
            (&["spark.ui.view.acls=*", "spark.modify.acls.groups=users"], Rights::View, Rights::Modify),
            (&["spark.ui.view.acls.groups=staff"], Rights::Own, Rights::View),
        ] {
            let found = (rights(pairs, "ann", &[]), rights(pairs, "bob", &["staff", "users"]));
            assert_eq!(found, (ann, bob), "{pairs:?}");
        }
    }
}
