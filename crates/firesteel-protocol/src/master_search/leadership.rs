//! Which of several Masters leads.
//!
//! Of Masters that share a cluster one leads, and the others stand by. Each time that one begins to lead, it has a greater
//! epoch than all before it. So who meets a Master that led before knows it by its epoch.

use crate::address::Address;
use crate::wire::{Hello, Role};

/// What a Master says of itself when a connection to it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It leads.
    Here {
        /// Its epoch. 0: it is alone, and was not elected.
        epoch: u64,
    },
    /// It stands by. It closes the connection when it begins to lead, or when another one does.
    Elsewhere {
        /// The Master that leads, if it knows.
        leader: Option<Address>,
    },
}

impl Leadership {
    /// That of a Master without others.
    pub const ALONE: Self = Self::Here { epoch: 0 };

    /// What a Master says in its hello.
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

/// What one who looks for Masters remembers of who leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaders {
    /// The greatest epoch of a Master that was met.
    epoch: u64,
    /// The Master that leads, as another one said last.
    named: Option<Address>,
}

impl Leaders {
    /// Notes that a Master with this epoch says that it leads.
    ///
    /// # Errors
    /// It cannot be: one with a greater epoch was met.
    pub(crate) fn meet(&mut self, master: &Address, epoch: u64) -> Result<(), Dispute> {
        if let Some(dispute) = self.outdated(master, epoch) {
            return Err(dispute);
        }
        self.epoch = self.epoch.max(epoch);
        Ok(())
    }

    /// Why a Master with this epoch no longer counts, if one with a greater epoch was met since.
    pub(crate) fn outdated(&self, master: &Address, epoch: u64) -> Option<Dispute> {
        let is_outdated = epoch != 0 && epoch < self.epoch;
        is_outdated.then(|| Dispute::Deposed { master: master.clone(), epoch, latest: self.epoch })
    }

    /// Notes that a Master which stands by names this one as the leader. Whether it is news: neither one of these Masters nor
    /// the one that was named before.
    pub(crate) fn hear(&mut self, leader: Option<Address>, masters: &[Address]) -> bool {
        let Some(leader) = leader else { return false };
        let is_news = !self.with_named(masters).any(|known| *known == leader);
        self.named = Some(leader);
        is_news
    }

    /// These Masters, and the one that was named if it is none of them.
    pub(crate) fn with_named<'a>(&'a self, masters: &'a [Address]) -> impl Iterator<Item = &'a Address> {
        masters.iter().chain(self.named.iter().filter(|named| !masters.contains(named)))
    }
}

/// Two Masters that both say that they lead.
#[derive(Clone, Debug, PartialEq, Eq, crate::Display)]
pub enum Dispute {
    /// Another one has led after this one. It is not asked, and what it has said no longer counts.
    #[display(
        "{} believes that it leads, in epoch {epoch}; epoch {latest} has begun: not listening to it",
        master.url()
    )]
    Deposed {
        /// The Master's address.
        master: Address,
        /// Its epoch.
        epoch: u64,
        /// The greatest epoch of a Master that was met.
        latest: u64,
    },
    /// They know nothing of each other: at least one of them was not elected.
    #[display(
        "{} and {} both lead, and know nothing of each other: Workers and applications of one do not see those of \
        the other. Give both spark.deploy.recoveryMode=ZOOKEEPER, or name only one of them",
        one.url(),
        other.url()
    )]
    Strangers {
        /// The one that was met first.
        one: Address,
        /// The other one.
        other: Address,
    },
}

impl Dispute {
    /// The dispute of a Master with those that were met before, if there is one. Each comes with its epoch.
    pub fn among<'a>(
        met: impl IntoIterator<Item = (&'a Address, u64)>,
        (master, epoch): (&Address, u64),
    ) -> Option<Self> {
        let is_stranger = |one: &Address, other| one != master && (epoch == 0 || other == 0);
        let (one, _) = met.into_iter().find(|(one, other)| is_stranger(one, *other))?;
        Some(Self::Strangers { one: one.clone(), other: master.clone() })
    }
}
