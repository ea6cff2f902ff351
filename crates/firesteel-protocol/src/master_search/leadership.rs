//! Which of several Masters leads.
//!
//! One of the Masters that share a cluster leads, and the others stand by. A Master that begins to lead gets a greater
//! epoch than all earlier leaders. So peers recognise an earlier leader by its smaller epoch.

use crate::address::Address;
use crate::wire::{Hello, Role};

/// Whether a Master leads or stands by. The Master sends this when a connection to it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This Master leads.
    Here {
        /// The Master's epoch. 0: this is the only Master, and it was not elected.
        epoch: u64,
    },
    /// This Master stands by. It closes the connection when it begins to lead, or when another Master begins to lead.
    Elsewhere {
        /// The Master that leads, if the standby Master knows it.
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
            _ => Self::Here { epoch: hello.epoch },
        }
    }
}

/// What a seeker remembers about leaders: those it connected to, and those that standby Masters named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaders {
    /// The greatest epoch of all Masters that the seeker connected to.
    epoch: u64,
    /// The leader that a standby Master named last.
    named: Option<Address>,
}

impl Leaders {
    /// Records that a Master with this epoch claims to lead.
    ///
    /// # Errors
    /// The seeker has connected to a Master with a greater epoch before.
    pub(crate) fn check_epoch(&mut self, master: &Address, epoch: u64) -> Result<(), LeaderConflict> {
        if let Some(dispute) = self.outdated(master, epoch) {
            return Err(dispute);
        }
        self.epoch = self.epoch.max(epoch);
        Ok(())
    }

    /// Why a Master with this epoch no longer counts, if a Master with a greater epoch was found.
    pub(crate) fn outdated(&self, master: &Address, epoch: u64) -> Option<LeaderConflict> {
        let is_outdated = epoch != 0 && epoch < self.epoch;
        is_outdated.then(|| LeaderConflict::Deposed { master: master.clone(), epoch, latest: self.epoch })
    }

    /// Records the leader that a standby Master names. Returns `true` if the leader is new: not in `masters`, and not
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
    /// Another Master has been elected since. The older leader is not asked, and its messages no longer count.
    #[display(
        "{} believes that it leads, in epoch {epoch}; epoch {latest} has begun: not listening to it",
        master.url()
    )]
    Deposed { master: Address, epoch: u64, latest: u64 },
    /// Neither Master knows the other: at least one of them was not elected.
    #[display(
        "{} and {} both lead, and know nothing of each other: Workers and applications of one do not see those of \
        the other. Give both spark.deploy.recoveryMode=ZOOKEEPER, or name only one of them",
        one.url(),
        other.url()
    )]
    Strangers {
        /// The Master that the seeker found first.
        one: Address,
        other: Address,
    },
}

impl LeaderConflict {
    /// The conflict between a Master and the Masters found before, if there is one. The arguments contain each Master's
    /// epoch.
    pub fn among<'a>(
        met: impl IntoIterator<Item = (&'a Address, u64)>,
        (master, epoch): (&Address, u64),
    ) -> Option<Self> {
        let is_stranger = |one: &Address, other| one != master && (epoch == 0 || other == 0);
        let (one, _) = met.into_iter().find(|(one, other)| is_stranger(one, *other))?;
        Some(Self::Strangers { one: one.clone(), other: master.clone() })
    }
}
