//! Which of several Masters leads.
//!
//! One of the Masters that share a cluster leads, and the others stand by. A Master that begins to lead gets a greater
//! epoch than every leader before it. So peers recognise a former leader by its epoch.

use crate::address::Address;
use crate::wire::{Hello, Role};

/// Whether a Master leads or stands by. It says so when a connection to it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This Master leads.
    Here {
        /// Its epoch. 0: it is the only Master, and was not elected.
        epoch: u64,
    },
    /// This Master stands by. It closes the connection when it begins to lead, or when another Master does.
    Elsewhere {
        /// The Master that leads, if this one knows.
        leader: Option<Address>,
    },
}

impl Leadership {
    /// A Master without standby Masters.
    pub const ALONE: Self = Self::Here { epoch: 0 };

    /// Reads from a Master's hello whether it leads.
    #[must_use]
    pub fn of(hello: &Hello) -> Self {
        match hello.role {
            Role::Standby => Self::Elsewhere { leader: hello.leader.clone() },
            Role::Master | Role::Worker | Role::Driver | Role::Client | Role::Executor => {
                Self::Here { epoch: hello.epoch }
            }
        }
    }
}

/// What a seeker remembers about the leaders that it met or heard of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaders {
    /// The greatest epoch of a Master that was met.
    epoch: u64,
    /// The leader that a standby Master named last.
    named: Option<Address>,
}

impl Leaders {
    /// Records that a Master with this epoch claims to lead.
    ///
    /// # Errors
    /// A Master with a greater epoch was met.
    pub(crate) fn check_epoch(&mut self, master: &Address, epoch: u64) -> Result<(), LeaderConflict> {
        if let Some(dispute) = self.outdated(master, epoch) {
            return Err(dispute);
        }
        self.epoch = self.epoch.max(epoch);
        Ok(())
    }

    /// Why a Master with this epoch no longer counts: a Master with a greater epoch was met.
    pub(crate) fn outdated(&self, master: &Address, epoch: u64) -> Option<LeaderConflict> {
        let is_outdated = epoch != 0 && epoch < self.epoch;
        is_outdated.then(|| LeaderConflict::Deposed { master: master.clone(), epoch, latest: self.epoch })
    }

    /// Records the leader that a standby Master names. Returns whether the name is news: it is neither in `masters` nor
    /// the leader named before.
    pub(crate) fn hear(&mut self, leader: Option<Address>, masters: &[Address]) -> bool {
        let Some(leader) = leader else { return false };
        let is_news = !self.with_named(masters).any(|known| *known == leader);
        self.named = Some(leader);
        is_news
    }

    /// The Masters in the list, and the named leader if it is not in the list.
    pub(crate) fn with_named<'a>(&'a self, masters: &'a [Address]) -> impl Iterator<Item = &'a Address> {
        masters.iter().chain(self.named.iter().filter(|named| !masters.contains(named)))
    }
}

/// Two Masters that both claim to lead.
#[derive(Clone, Debug, PartialEq, Eq, crate::Display)]
pub enum LeaderConflict {
    /// Another Master has led since. This one is not asked, and its messages no longer count.
    #[display(
        "{} believes that it leads, in epoch {epoch}; epoch {latest} has begun: not listening to it",
        master.url()
    )]
    Deposed { master: Address, epoch: u64, latest: u64 },
    /// The two know nothing of each other: at least one of them was not elected.
    #[display(
        "{} and {} both lead, and know nothing of each other: Workers and applications of one do not see those of \
        the other. Give both spark.deploy.recoveryMode=ZOOKEEPER, or name only one of them",
        one.url(),
        other.url()
    )]
    Strangers {
        /// The Master that was met first.
        one: Address,
        other: Address,
    },
}

impl LeaderConflict {
    /// The dispute between a Master and the Masters that were met before, if there is one. Each comes with its epoch.
    pub fn among<'a>(
        met: impl IntoIterator<Item = (&'a Address, u64)>,
        (master, epoch): (&Address, u64),
    ) -> Option<Self> {
        let is_stranger = |one: &Address, other| one != master && (epoch == 0 || other == 0);
        let (one, _) = met.into_iter().find(|(one, other)| is_stranger(one, *other))?;
        Some(Self::Strangers { one: one.clone(), other: master.clone() })
    }
}
