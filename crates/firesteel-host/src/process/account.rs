//! An account of the system, under which this daemon starts programs that are not its own.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::{Gid, Uid, User, getegid, geteuid, setfsgid, setfsuid, setgroups};
use serde::{Deserialize, Serialize};

/// Variables that name what belongs to the account of the daemon.
const OF_A_SESSION: [&str; 3] = ["MAIL", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The lowest number of a person's account. Source: Debian (`login.defs`), and YARN's `min.user.id`.
const FIRST_OF_PEOPLE: u32 = 1000;

/// Gives up this process's further groups, so that it has only the rights of an account when it [acts](Account::act)
/// for it.
///
/// # Errors
/// The system does not allow it.
pub fn give_up_groups() -> io::Result<()> {
    Ok(setgroups(&[])?)
}

/// An account other than root and than this process's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    name: String,
    user: u32,
    group: u32,
    home: String,
}

/// Why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("only root may start programs under another account")]
    NotRoot,
    #[error("there is no such account")]
    Unknown,
    #[error("programs of others may not run as root")]
    Root,
    #[error("it is an account of the system's: its number is below {FIRST_OF_PEOPLE}")]
    Systems,
    #[error("the system does not let this process act for it")]
    Forbidden,
    #[error("cannot look it up: {0}")]
    System(#[from] io::Error),
}

impl Account {
    /// Finds the account.
    ///
    /// # Errors
    /// There is no such account, it is root's, or this process is not root.
    pub fn find(name: &str) -> Result<Self, AccountError> {
        let found = User::from_name(name).map_err(io::Error::from)?.ok_or(AccountError::Unknown)?;
        if found.uid.is_root() {
            return Err(AccountError::Root);
        }
        if !geteuid().is_root() {
            return Err(AccountError::NotRoot);
        }
        let home = found.dir.to_string_lossy().into_owned();
        let account = Self { name: found.name, user: found.uid.as_raw(), group: found.gid.as_raw(), home };
        let acted = account.act(|| setfsuid(Uid::from_raw(account.user)).as_raw() == account.user);
        if acted { Ok(account) } else { Err(AccountError::Forbidden) }
    }

    /// Finds the account of a person.
    ///
    /// # Errors
    /// As [`find`](Self::find), or it is an account of the system's.
    pub fn of_person(name: &str) -> Result<Self, AccountError> {
        Self::find(name).and_then(|found| match found.user {
            FIRST_OF_PEOPLE.. => Ok(found),
            _ => Err(AccountError::Systems),
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Does this on files with the rights of the account. What is made belongs to the account. Only this thread acts
    /// so.
    pub fn act<T>(&self, work: impl FnOnce() -> T) -> T {
        let _own = Own { user: geteuid(), group: getegid() };
        setfsgid(Gid::from_raw(self.group));
        setfsuid(Uid::from_raw(self.user));
        work()
    }

    /// Gives an open file or directory to the account. Its group stays.
    ///
    /// # Errors
    /// The file system does not let it be given away.
    pub fn give(&self, file: &File) -> io::Result<()> {
        std::os::unix::fs::fchown(file, Some(self.user), None)
    }

    /// Lets a command run under the account, in its home's name. It has no further groups.
    pub fn run(&self, command: &mut Command) {
        OF_A_SESSION.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("HOME", &self.home).env("USER", &self.name).env("LOGNAME", &self.name);
        command.uid(self.user).gid(self.group);
    }
}

/// This thread's own rights on files. Dropping the value brings them back.
struct Own {
    user: Uid,
    group: Gid,
}

impl Drop for Own {
    fn drop(&mut self) {
        setfsuid(self.user);
        setfsgid(self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn an_account_is_known_and_not_root_s() {
        assert!(matches!(Account::find("root"), Err(AccountError::Root)));
        assert!(matches!(Account::find("no-such-account-here"), Err(AccountError::Unknown)));
        let found = Account::find("nobody");
        match geteuid().is_root() {
            true => assert_eq!(found.expect("it is there").user(), 65_534),
            false => assert!(matches!(found, Err(AccountError::NotRoot))),
        }
        if geteuid().is_root() {
            assert!(matches!(Account::of_person("daemon"), Err(AccountError::Systems)));
            assert!(Account::of_person("nobody").is_ok());
        }
    }

    /// Does nothing without root: the tests of `tests/tools/contained.rs`, which say so, are left out then, too.
    #[test]
    fn what_is_done_for_an_account_has_its_rights_only() {
        let Ok(nobody) = Account::find("nobody") else { return };
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let (own, theirs) = (scratch.path().join("own"), scratch.path().join("theirs"));
        fs::write(&own, "hush").expect("there is room");
        fs::create_dir(&theirs).expect("there is room");
        let mode = |mode| {
            fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        mode(0o700);
        assert!(nobody.act(|| fs::metadata(&theirs).is_err()));
        mode(0o711);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).expect("it is ours");
        nobody.give(&File::open(&theirs).expect("it is there")).expect("root may");
        let (read, made) = nobody.act(|| (fs::read(&own), fs::write(theirs.join("made"), "")));
        assert_eq!(read.expect_err("it is ours").kind(), io::ErrorKind::PermissionDenied);
        made.expect("the directory is theirs");
        assert_eq!(fs::metadata(theirs.join("made")).expect("it is there").uid(), nobody.user());
        let beside = std::thread::scope(|scope| {
            nobody.act(|| scope.spawn(|| fs::read(&own)).join().expect("it does not panic"))
        });
        // A new thread of Linux begins with the rights of the one that makes it.
        assert!(beside.is_err());
        assert_eq!(fs::read(&own).expect("it is ours again"), b"hush");
    }
}
