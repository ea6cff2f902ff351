//! The file with the secrets of a cluster, or with those that somebody was granted.
//!
//! ```text
//! # Credentials of a Firesteel cluster: keep them secret
//! cluster 5f1e..  64 digits         the secret of the cluster, from which those of all purposes are made
//! user ann                          a user of the cluster, who has secrets of her own
//! ```
//!
//! A granted file has lines that begin with the [purpose](Purpose) in the place of `cluster`. Of two lines with the
//! same beginning the first is used, and both are accepted, so that a secret can be replaced without a stop.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use firesteel_host::net::{Keyring, Keys, Purpose, UserName, fingerprint};
use firesteel_protocol::secret::Secret;
use nix::unistd::geteuid;

use super::random;
use crate::files::private;

const HEADING: &str = "# Credentials of a Firesteel cluster: keep them secret (firesteel secret --help)\n";

/// The most bytes that are read of a file.
const LONGEST: u64 = 64 << 10;

/// The most secrets of one scope: the one in use, and the one that replaces it or was replaced by it.
const MOST: usize = 2;

/// What a secret of a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything. The secrets of all purposes are made from this one.
    Cluster,
    Only(Purpose),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Only(purpose) => purpose.fmt(f),
        }
    }
}

/// The secrets of one file, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    secrets: Vec<(Scope, Secret)>,
    /// The users of the cluster who have secrets of their own.
    users: BTreeSet<UserName>,
}

/// Why credentials cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("{} belongs to user {owner}: make it belong to the user who runs this program, or to root", path.display())]
    Foreign { path: PathBuf, owner: u32 },
    #[error("other users can read {0}: chmod 600 {0}", path.display())]
    Open { path: PathBuf },
    #[error("line {line} of {} is no credential: write cluster, work, submit, logs, pages, rest, spark or admin, and 64 hexadecimal digits, or user and a name of letters, digits, '.', '-' and '_'", path.display())]
    Malformed { path: PathBuf, line: usize },
    #[error("{} has no credential, or more than {MOST} with the same beginning: make another with firesteel secret", path.display())]
    Count { path: PathBuf },
    #[error("{} has no secret of a cluster, only what was granted: use the file that firesteel secret new has made", path.display())]
    Granted { path: PathBuf },
    #[error("{} names no user {user}: firesteel secret show {} prints those that it names", path.display(), path.display())]
    NoUser { path: PathBuf, user: UserName },
}

impl Credentials {
    /// New credentials of a cluster.
    ///
    /// # Panics
    /// The operating system has no random source.
    #[must_use]
    pub fn draw() -> Self {
        Self::of(vec![(Scope::Cluster, draw_cluster())])
    }

    fn of(secrets: Vec<(Scope, Secret)>) -> Self {
        Self { secrets, users: BTreeSet::new() }
    }

    /// The credentials of a Worker, made from these keys. `None`: they are not those of a cluster.
    #[must_use]
    pub fn of_worker(keyring: &Keyring) -> Option<Self> {
        let granted = Purpose::OF_WORKERS.into_iter().flat_map(|purpose| {
            let all = keyring.granted(purpose).into_iter().filter(|granted| granted.user.is_none());
            all.map(move |granted| (Scope::Only(purpose), granted.secret))
        });
        let credentials = Self::of(granted.collect());
        let has = |purpose| credentials.secrets.iter().any(|(scope, _)| *scope == Scope::Only(purpose));
        Purpose::OF_WORKERS.into_iter().all(has).then_some(credentials)
    }

    /// The credentials in this text, which is to become this file.
    ///
    /// # Errors
    /// It is wrong.
    pub fn of_text(text: &Secret, path: &Path) -> Result<Self, CredentialsError> {
        Self::parse(text.reveal(), path)
    }

    /// Reads a file that only its owner can read; if that is root and this process is not, its group may, too.
    ///
    /// # Errors
    /// The file cannot be read, others can read it, or its contents are wrong.
    pub fn open(path: &Path) -> Result<Self, CredentialsError> {
        let unreadable = |error| CredentialsError::Read { path: path.to_owned(), error };
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if ![0, geteuid().as_raw()].contains(&about.uid()) {
            return Err(CredentialsError::Foreign { path: path.to_owned(), owner: about.uid() });
        }
        if !is_private(about.mode(), about.uid(), geteuid().as_raw()) {
            return Err(CredentialsError::Open { path: path.to_owned() });
        }
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(unreadable)?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, CredentialsError> {
        let (mut all, mut users) = (Vec::new(), BTreeSet::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let malformed = || CredentialsError::Malformed { path: path.to_owned(), line: number };
            match line.split_once(char::is_whitespace) {
                Some(("user", name)) => {
                    users.insert(UserName::new(name.trim()).ok_or_else(malformed)?);
                }
                _ => all.push(credential(line).ok_or_else(malformed)?),
            }
        }
        let count = |scope: Scope| all.iter().filter(|(other, _)| *other == scope).count();
        if all.is_empty() || all.iter().any(|(scope, _)| count(*scope) > MOST) {
            return Err(CredentialsError::Count { path: path.to_owned() });
        }
        Ok(Self { secrets: all, users })
    }

    /// The scopes and fingerprints, by which two files can be compared.
    pub fn shown(&self) -> impl Iterator<Item = (Scope, String)> {
        self.secrets.iter().map(|(scope, secret)| (*scope, fingerprint(secret)))
    }

    /// The users of the cluster who have secrets of their own.
    pub fn users(&self) -> impl Iterator<Item = &UserName> {
        self.users.iter()
    }

    /// The keys that these secrets make.
    #[must_use]
    pub fn keys(&self) -> Keys {
        self.secrets.iter().fold(Keys::default(), |keys, (scope, secret)| match scope {
            Scope::Cluster => {
                self.users.iter().fold(keys.with_cluster(secret), |keys, user| keys.with_user(secret, user))
            }
            Scope::Only(purpose) => keys.with(*purpose, secret),
        })
    }

    /// The credentials for these purposes alone, made from the secrets of the cluster. Those of a user are of use only
    /// while the user is in the file of the cluster.
    ///
    /// # Errors
    /// This file itself was granted.
    pub fn granted(
        &self,
        path: &Path,
        purposes: &[Purpose],
        user: Option<&UserName>,
    ) -> Result<Self, CredentialsError> {
        let clusters = self.clusters(path)?;
        let granted = purposes.iter().flat_map(|purpose| {
            let user = user.filter(|_| Purpose::OF_USERS.contains(purpose));
            clusters.iter().map(move |secret| (Scope::Only(*purpose), purpose.secret_of(secret, user)))
        });
        Ok(Self::of(granted.collect()))
    }

    /// The same credentials of a cluster, with this user.
    #[must_use]
    pub fn and_user(mut self, user: UserName) -> Self {
        self.users.insert(user);
        self
    }

    /// The same credentials of a cluster, without this user.
    ///
    /// # Errors
    /// The file does not name the user.
    pub fn without_user(mut self, path: &Path, user: &UserName) -> Result<Self, CredentialsError> {
        if self.users.remove(user) {
            Ok(self)
        } else {
            Err(CredentialsError::NoUser { path: path.to_owned(), user: user.clone() })
        }
    }

    /// The secrets of the cluster.
    fn clusters(&self, path: &Path) -> Result<Vec<Secret>, CredentialsError> {
        let is_cluster = |(scope, _): &&(Scope, Secret)| *scope == Scope::Cluster;
        let clusters: Vec<Secret> =
            self.secrets.iter().filter(is_cluster).map(|(_, secret)| secret.clone()).collect();
        if clusters.is_empty() {
            Err(CredentialsError::Granted { path: path.to_owned() })
        } else {
            Ok(clusters)
        }
    }

    /// One step of replacing the secret of the cluster.
    ///
    /// # Errors
    /// The file was granted.
    pub fn rotated(&self, path: &Path, step: Rotation) -> Result<Self, CredentialsError> {
        let mut clusters = self.clusters(path)?;
        match step {
            Rotation::Add => {
                clusters.truncate(1);
                clusters.push(draw_cluster());
            }
            Rotation::Switch => clusters.reverse(),
            Rotation::Drop => clusters.truncate(1),
        }
        let secrets = clusters.into_iter().map(|secret| (Scope::Cluster, secret)).collect();
        Ok(Self { secrets, users: self.users.clone() })
    }

    /// Writes a new file that only its owner can read.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn create(&self, path: &Path) -> Result<(), CredentialsError> {
        let failed = |error| CredentialsError::Write { path: path.to_owned(), error };
        let mut file = private::create_file(path).map_err(failed)?;
        file.write_all(self.text().reveal().as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// The contents of a file with these credentials.
    #[must_use]
    pub fn text(&self) -> Secret {
        let lines = self.secrets.iter().map(|(scope, secret)| format!("{scope} {}\n", secret.reveal()));
        let users = self.users.iter().map(|user| format!("user {user}\n"));
        Secret::new(HEADING.to_owned() + &lines.chain(users).collect::<String>())
    }

    /// Writes the file anew, in the place of the one that is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace(&self, path: &Path) -> Result<(), CredentialsError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        self.create(&new)?;
        fs::rename(&new, path).map_err(|error| CredentialsError::Write { path: path.to_owned(), error })
    }
}

/// The steps by which a secret is replaced without a stop. After each of them the file is brought to all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// A new secret is accepted, and the one before is used.
    Add,
    /// The new secret is used, and the one before is accepted.
    Switch,
    /// Only the secret in use is accepted.
    Drop,
}

fn draw_cluster() -> Secret {
    Secret::of_bytes(random::<32>())
}

fn credential(line: &str) -> Option<(Scope, Secret)> {
    let (scope, secret) = line.split_once(char::is_whitespace)?;
    let only = Purpose::ALL.into_iter().map(Scope::Only);
    let scope = std::iter::once(Scope::Cluster).chain(only).find(|known| known.to_string() == scope)?;
    let secret = secret.trim();
    let is_word = secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_word.then(|| (scope, Secret::new(secret)))
}

/// Whether a file with this mode and owner keeps its contents from everybody else. A program that is not root may read
/// a file of root's by its group: so do secrets reach programs in containers.
fn is_private(mode: u32, owner: u32, user: u32) -> bool {
    let others = if owner == 0 && user != 0 { 0o037 } else { 0o077 };
    mode & others == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const PATH: &str = "a file";

    fn names(credentials: &Credentials) -> Vec<String> {
        credentials.shown().map(|(scope, fingerprint)| format!("{scope} {fingerprint}")).collect()
    }

    #[test]
    fn a_file_of_root_may_be_read_by_the_group_of_others() {
        let rows = [
            (0o600, 185, 185, true),
            (0o440, 185, 185, false),
            (0o440, 0, 0, false),
            // As Kubernetes mounts secrets for a pod with a group for its files.
            (0o100_440, 0, 185, true),
            (0o640, 0, 185, true),
            (0o660, 0, 185, false),
            (0o444, 0, 185, false),
        ];
        for (mode, owner, user, expected) in rows {
            assert_eq!(is_private(mode, owner, user), expected, "{mode:o} of {owner}, read by {user}");
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_by_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials");
        let credentials = Credentials::draw();
        credentials.create(&path).expect("it is new");
        assert!(credentials.create(&path).is_err(), "a file is not written over");
        assert_eq!(Credentials::open(&path).expect("it can be read"), credentials);
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o610] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
            let error = Credentials::open(&path).expect_err("others can read it").to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        assert_ne!(Credentials::draw(), credentials);
    }

    #[test]
    fn a_secret_is_replaced_in_three_steps_of_which_each_two_have_a_secret_in_common() {
        let path = Path::new(PATH);
        let first = Credentials::draw();
        let steps = [Rotation::Add, Rotation::Switch, Rotation::Drop];
        let mut all = vec![first];
        for step in steps {
            let last = all.last().expect("there is one");
            all.push(last.rotated(path, step).expect("it is a cluster's"));
        }
        let all: Vec<Vec<String>> = all.iter().map(names).collect();
        let (old, new) = (&all[1][0], &all[1][1]);
        assert_ne!(old, new);
        let expected: [&[&String]; 4] = [&[old], &[old, new], &[new, old], &[new]];
        assert!(all.iter().zip(expected).all(|(have, want)| have.iter().eq(want.iter().copied())), "{all:?}");
    }

    #[test]
    fn what_is_granted_is_for_one_purpose_and_grants_nothing_more() {
        let path = Path::new(PATH);
        let cluster = Credentials::draw();
        let granted =
            cluster.granted(path, &[Purpose::Work, Purpose::Logs], None).expect("it is a cluster's");
        let scopes: Vec<String> = granted.shown().map(|(scope, _)| scope.to_string()).collect();
        assert_eq!(scopes, ["work", "logs"]);
        assert!(granted.granted(path, &[Purpose::Submit], None).is_err());
        assert!(granted.rotated(path, Rotation::Add).is_err());
        let again = cluster.granted(path, &[Purpose::Work], None).expect("it is a cluster's");
        assert_eq!(names(&again)[0], names(&granted)[0], "it is the same for everybody who works");
    }

    #[test]
    fn users_have_secrets_of_their_own_which_stay_when_the_file_is_written_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials");
        let user = |name: &str| UserName::new(name).expect("it is a name");
        let cluster = Credentials::draw().and_user(user("ann")).and_user(user("bob"));
        cluster.create(&path).expect("it is new");
        assert_eq!(Credentials::open(&path).expect("it can be read"), cluster);
        let (submit, keys) = ([Purpose::Submit, Purpose::Logs], cluster.keys());
        let secret = |of: Option<&UserName>, purpose| {
            let granted = cluster.granted(&path, &submit, of).expect("it is a cluster's");
            granted.keys().secret(purpose).expect("it was granted").reveal().to_owned()
        };
        let whose = |secret: &str| {
            let granted = keys.granted(Purpose::Submit).find(|granted| granted.secret == Secret::new(secret));
            granted.expect("it is accepted").user.clone()
        };
        for of in [None, Some(user("ann")), Some(user("bob"))] {
            assert_eq!(whose(&secret(of.as_ref(), Purpose::Submit)), of);
            assert_eq!(secret(of.as_ref(), Purpose::Logs), secret(None, Purpose::Logs), "logs are for all");
        }
        let stranger = secret(Some(&user("eve")), Purpose::Submit);
        assert!(
            keys.granted(Purpose::Submit).all(|granted| granted.secret != Secret::new(stranger.as_str()))
        );
        let rotated = cluster.rotated(&path, Rotation::Add).expect("it is a cluster's");
        assert!(rotated.users().eq(cluster.users()));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let word = "0a".repeat(32);
        for (text, part) in [
            (String::new(), "no credential"),
            ("# a remark\n\n".to_owned(), "no credential"),
            (format!("cluster {word}\ncluster {word}\ncluster {word}\n"), "more than 2"),
            (format!("# a remark\nclusters {word}\n"), "line 2 "),
            (format!("cluster {word}0\n"), "line 1 "),
            (format!("application {word}\n"), "line 1 "),
            ("cluster\n".to_owned(), "line 1 "),
            (format!("cluster {word}\nuser a/b\n"), "line 2 "),
            (format!("cluster {word}\nuser {}\n", "a".repeat(33)), "line 2 "),
            (format!("cluster {}\n", "g".repeat(64)), "line 1 "),
        ] {
            let error = Credentials::parse(&text, Path::new(PATH)).expect_err(&text).to_string();
            assert!(error.contains(part) && !error.contains(&word), "{error}");
        }
        let both = format!("  submit  {word}\nlogs {word}");
        assert_eq!(Credentials::parse(&both, Path::new(PATH)).expect("it is right").secrets.len(), 2);
    }
}
