//! The accounts under which the executors and cluster drivers of a Worker run.

use std::collections::BTreeMap;
use std::fmt;

use firesteel_host::account::{Account, AccountError, give_up_groups};
use firesteel_protocol::process::{NotStarted, PROVEN_USER, StartFailure, StartStep};

/// The value of the setting for the accounts of the users.
const OF_USERS: &str = "*";

/// Whose account programs get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Accounts {
    /// The Worker's own.
    #[default]
    Own,
    /// This one.
    One(Account),
    /// That of the user whom the secret of the submitter proves, with the same name.
    OfUsers,
}

impl Accounts {
    /// The accounts of this setting. From now on this process has the rights of an account only, when it acts for one.
    ///
    /// # Errors
    /// The account does not exist, or this process may not act for others.
    pub fn of(setting: Option<&str>) -> Result<Self, AccountError> {
        let accounts = match setting {
            None => return Ok(Self::Own),
            // Whether this process may act for others does not depend on the account.
            Some(OF_USERS) => Account::find(ANYBODY).map(|_| Self::OfUsers)?,
            Some(name) => Self::One(Account::find(name)?),
        };
        give_up_groups()?;
        Ok(accounts)
    }

    /// The account of a program with these variables. `None`: the Worker's own.
    ///
    /// # Errors
    /// It has to be the account of the user, who is not proven or has none here.
    pub fn of_program(&self, variables: &BTreeMap<String, String>) -> Result<Option<Account>, NotStarted> {
        let user = match self {
            Self::Own => return Ok(None),
            Self::One(account) => return Ok(Some(account.clone())),
            Self::OfUsers => variables.get(PROVEN_USER),
        };
        let error = match user.map(|user| (user, Account::of_person(user))) {
            Some((_, Ok(account))) => return Ok(Some(account)),
            Some((user, Err(why))) => format!("no account here for the user {user}: {why}"),
            None => {
                "programs run under the accounts of their users here, and no user is proven: submit with a \
                     file of firesteel secret grant user --name"
                    .to_owned()
            }
        };
        Err(StartFailure { step: StartStep::Program, error }.into())
    }
}

/// An account that each system has.
const ANYBODY: &str = "nobody";

impl fmt::Display for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("under the Worker's account"),
            Self::One(account) => write!(f, "as {}", account.name()),
            Self::OfUsers => f.write_str("under the accounts of their users"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_account_of_a_user_who_is_proven_and_has_one() {
        let of = |user: Option<&str>| {
            let variables = user.map(|user| (PROVEN_USER.to_owned(), user.to_owned())).into_iter().collect();
            Accounts::OfUsers.of_program(&variables).map_err(|why| why.failure.error)
        };
        for (user, words) in [
            (None, "no user is proven: submit with"),
            (Some("root"), "no account here for the user root: programs of others may not run as root"),
            (Some("no-such-account-here"), "there is no such account"),
            (Some(""), "there is no such account"),
        ] {
            let error = of(user).expect_err("it has none");
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Accounts::Own.of_program(&BTreeMap::new()), Ok(None));
    }
}
