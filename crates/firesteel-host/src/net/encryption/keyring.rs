//! The keys that one side has, and the roles that each key admits.

use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, Weak};

use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use tokio_util::sync::CancellationToken;

use super::key::{Key, KeyName, derived};

/// What a secret of a cluster is for: who proves itself to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Purpose {
    /// Workers to a Master.
    #[display("work")]
    Work,
    /// Drivers and clients to a Master.
    #[display("submit")]
    Submit,
    /// Masters to a Worker, for logs.
    #[display("logs")]
    Logs,
    /// Browsers and monitors to the pages of a Master or a Worker.
    #[display("pages")]
    Pages,
    /// Clients that submit programs by REST to a Master.
    #[display("rest")]
    Rest,
    /// Spark's applications to Masters and Workers, and their parts to each other.
    #[display("spark")]
    Spark,
    /// Administrators to a Master: in Firesteel's protocol, on its pages and by REST.
    #[display("admin")]
    Admin,
}

impl Purpose {
    pub const ALL: [Self; 7] =
        [Self::Work, Self::Submit, Self::Logs, Self::Pages, Self::Rest, Self::Spark, Self::Admin];

    /// The purposes for which Workers have secrets. A Worker checks those of who reads its logs and its pages.
    pub const OF_WORKERS: [Self; 3] = [Self::Work, Self::Logs, Self::Pages];

    /// The purposes for which each user may have secrets of his own.
    pub const OF_USERS: [Self; 4] = [Self::Submit, Self::Pages, Self::Rest, Self::Spark];

    /// The secret for this purpose and user alone, made from the secret of a cluster. Nobody can find out the secret of
    /// the cluster from it.
    #[must_use]
    pub fn secret_of(self, cluster: &Secret, user: Option<&UserName>) -> Secret {
        let usage = match user {
            None => format!("firesteel {self}"),
            Some(user) => format!("firesteel {self} {user}"),
        };
        Secret::of_bytes(derived::<32>(cluster, &usage))
    }

    /// The rights of those who prove no name, with a secret for this purpose.
    #[must_use]
    pub fn rights_of_all(self) -> Rights {
        self.rights(None)
    }

    /// The rights that a secret for this purpose gives. Of those who prove no name, nobody can tell what is their own.
    fn rights(self, user: Option<&UserName>) -> Rights {
        match (self, user) {
            (Self::Work | Self::Logs, _) => Rights::None,
            (Self::Pages, None) => Rights::View,
            (Self::Submit | Self::Pages | Self::Rest | Self::Spark, Some(_)) => Rights::Own,
            (Self::Submit | Self::Rest | Self::Spark, None) => Rights::Modify,
            (Self::Admin, _) => Rights::Admin,
        }
    }
}

/// The name of a user to whom secrets were granted: letters, digits, `.`, `-` and `_`, and no more than 32 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserName(Arc<str>);

impl UserName {
    /// The most characters of a name.
    const LONGEST: usize = 32;

    /// `None`: the text cannot be a name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let fits = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(is_sound);
        fits.then(|| Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret, and whom it admits.
#[derive(Clone, Debug)]
pub struct Granted {
    pub purpose: Purpose,
    /// The user to whom it was granted. `None`: everybody who has it is alike.
    pub user: Option<UserName>,
    /// What it allows at a Master.
    pub rights: Rights,
    pub secret: Secret,
    key: Key,
}

/// Secrets of one or more purposes, and the keys that they make. The first one of a purpose is used; all are accepted.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<Granted>);

impl Keys {
    /// These keys, and then the one that this secret makes.
    #[must_use]
    pub fn with(self, purpose: Purpose, secret: &Secret) -> Self {
        self.and(purpose, None, secret.clone())
    }

    /// These keys, and then those for all purposes of the cluster with this secret.
    #[must_use]
    pub fn with_cluster(self, secret: &Secret) -> Self {
        let add = |all: Self, purpose: Purpose| all.and(purpose, None, purpose.secret_of(secret, None));
        Purpose::ALL.into_iter().fold(self, add)
    }

    /// These keys, and then those of a user of the cluster with this secret.
    #[must_use]
    pub fn with_user(self, secret: &Secret, user: &UserName) -> Self {
        let add = |all: Self, purpose: Purpose| {
            all.and(purpose, Some(user.clone()), purpose.secret_of(secret, Some(user)))
        };
        Purpose::OF_USERS.into_iter().fold(self, add)
    }

    fn and(mut self, purpose: Purpose, user: Option<UserName>, secret: Secret) -> Self {
        let (key, rights) = (Key::of(&secret), purpose.rights(user.as_ref()));
        self.0.push(Granted { purpose, user, rights, secret, key });
        self
    }

    /// These keys, where each user has these rights.
    #[must_use]
    pub fn with_rights(mut self, rights_of: impl Fn(&UserName) -> Rights) -> Self {
        for granted in &mut self.0 {
            if let Some(user) = &granted.user {
                granted.rights = rights_of(user);
            }
        }
        self
    }

    /// All secrets for this purpose that are accepted, the one that is used first.
    pub fn granted(&self, purpose: Purpose) -> impl Iterator<Item = &Granted> {
        self.0.iter().filter(move |granted| granted.purpose == purpose)
    }

    /// The secret for this purpose that is used.
    #[must_use]
    pub fn secret(&self, purpose: Purpose) -> Option<&Secret> {
        self.granted(purpose).next().map(|granted| &granted.secret)
    }
}

/// The keys of a side, which all of its connections share. They can be replaced, which concerns later connections.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Arc<RwLock<Keys>>,
    is_local_cluster: bool,
    transition: Option<Transition>,
}

/// The time in which peers that show no secret are admitted, too, as by a side without keys.
#[derive(Clone, Debug)]
pub struct Transition {
    until: Timestamp,
    over: CancellationToken,
}

impl Transition {
    /// A transition that somebody has to [end](Self::end) at this time.
    #[must_use]
    pub fn new(until: Timestamp) -> Self {
        Self { until, over: CancellationToken::new() }
    }

    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Ends it for everybody who has it, and with it the connections of those who have shown no secret.
    pub fn end(&self) {
        self.over.cancel();
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Runs this future. `None`: the transition was over first.
    pub async fn run<F: Future>(&self, future: F) -> Option<F::Output> {
        self.over.run_until_cancelled(future).await
    }
}

impl Keyring {
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        Self { keys: Arc::new(RwLock::new(keys)), is_local_cluster: false, transition: None }
    }

    /// The same keys, and until its end this transition.
    #[must_use]
    pub fn with_transition(self, transition: Option<Transition>) -> Self {
        Self { transition, ..self }
    }

    /// The transition, unless it is over.
    #[must_use]
    pub fn transition(&self) -> Option<&Transition> {
        self.transition.as_ref().filter(|transition| !transition.is_over())
    }

    /// The keys of a cluster that one command starts on this machine.
    #[must_use]
    pub fn of_local_cluster(secret: &Secret) -> Self {
        Self { is_local_cluster: true, ..Self::new(Keys::default().with_cluster(secret)) }
    }

    /// Whether these are the keys of a cluster that one command has started on this machine.
    #[must_use]
    pub fn is_local_cluster(&self) -> bool {
        self.is_local_cluster
    }

    /// Means to replace the keys while somebody uses them.
    #[must_use]
    pub fn replacer(&self) -> Replacer {
        Replacer(Arc::downgrade(&self.keys))
    }

    /// All secrets for this purpose that are accepted, the one that is used first.
    #[must_use]
    pub fn granted(&self, purpose: Purpose) -> Vec<Granted> {
        self.keys().granted(purpose).cloned().collect()
    }

    /// The right password for this purpose that was shown. The administrator's is right for all.
    #[must_use]
    pub fn password(&self, purpose: Purpose, password: &str) -> Option<Granted> {
        let shown = Secret::new(password);
        let keys = self.keys();
        let mut right = keys.granted(purpose).chain(keys.granted(Purpose::Admin));
        right.find(|granted| granted.secret == shown).cloned()
    }

    /// The key with which a side of this role dials a peer of the wanted role.
    pub(in crate::net) fn to_dial(&self, here: Role, wanted: Role) -> Option<Key> {
        let purposes: &[Purpose] = match (here, wanted) {
            (_, Role::Worker) => &[Purpose::Logs],
            (Role::Worker, _) => &[Purpose::Work],
            _ => &[Purpose::Admin, Purpose::Submit],
        };
        let keys = self.keys();
        purposes.iter().find_map(|purpose| Some(keys.granted(*purpose).next()?.key.clone()))
    }

    /// The key with this name, and whom it admits to a side of this role.
    pub(in crate::net) fn accepted(&self, here: Role, name: KeyName) -> Option<(Key, Admitted)> {
        let keys = self.keys();
        let is_master = [Role::Master, Role::Standby].contains(&here);
        if is_master && name == joining().name {
            let admitted = Admitted { roles: &[Role::Joining], user: None, rights: Rights::None };
            return Some((joining().clone(), admitted));
        }
        let Granted { purpose, user, rights, key, .. } =
            keys.0.iter().find(|granted| granted.key.name == name)?;
        let roles: &[Role] = match (here, purpose) {
            (Role::Master | Role::Standby, Purpose::Work) => &[Role::Worker],
            (Role::Master | Role::Standby, Purpose::Submit | Purpose::Admin) => {
                &[Role::Driver, Role::Client, Role::Joining]
            }
            (Role::Worker, Purpose::Logs) => &[Role::Client],
            _ => return None,
        };
        Some((key.clone(), Admitted { roles, user: user.clone(), rights: *rights }))
    }

    fn keys(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of machines that have no secret yet. Everybody knows it, so it proves nothing: it encrypts.
pub(in crate::net) fn joining() -> &'static Key {
    static JOINING: LazyLock<Key> = LazyLock::new(|| Key::of(&Secret::new("firesteel joining")));
    &JOINING
}

/// Whom a key admits.
#[derive(Clone, Debug)]
pub(in crate::net) struct Admitted {
    pub(in crate::net) roles: &'static [Role],
    pub(in crate::net) user: Option<UserName>,
    pub(in crate::net) rights: Rights,
}

/// Replaces the keys of a [`Keyring`] while somebody uses them.
#[derive(Clone, Debug)]
pub struct Replacer(Weak<RwLock<Keys>>);

impl Replacer {
    /// Replaces the keys. Returns whether somebody uses them.
    #[must_use]
    pub fn replace(&self, keys: Keys) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        *shared.write().unwrap_or_else(PoisonError::into_inner) = keys;
        true
    }

    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// A short text by which two secrets can be compared. Nobody can find out the secret from it.
#[must_use]
pub fn fingerprint(secret: &Secret) -> String {
    Key::of(secret).name.iter().map(|byte| format!("{byte:02x}")).collect()
}
