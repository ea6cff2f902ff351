//! The link of a Worker or an application: its connection, or none while it is away.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{ApplicationEnd, LossReason};
use firesteel_protocol::time::Timestamp;

/// The link of a Worker or an application: its connection, or none while it is away.
///
/// ```text
///   (the Master was restarted)                 registers, with its id and token
///               |        ,---------------------------------------------------------------.
///               v        |                                                               v
///             AWAY ------+-- the time is over, or nothing listens there any more      HERE ---> HERE (on another
///               ^        `----> lost                                                     |            connection)
///               |                its connection ends without a goodbye                  |
///               `------------------------------------------------------------------------'
/// ```
///
/// A goodbye is the end of the application, or of a Worker that announced its end. Spark's drivers and Workers are
/// never away after their connection ended: they are lost at once, as with Spark's Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Here(PeerId),
    Away(Absence),
}

/// How long a Worker or application has had no connection, and how long it may still return. Meanwhile it gets nothing
/// new, and keeps what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    pub(crate) since: Timestamp,
    /// When the Worker or application is lost.
    pub(crate) until: Timestamp,
    pub(crate) cause: AbsenceCause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbsenceCause {
    /// The Master was restarted.
    Restart,
    /// The connection ended.
    Disconnected,
}

impl Absence {
    pub(crate) const NEVER: Timestamp = Timestamp::from_millis(u64::MAX);

    /// The absence with a later end, if messages still wait that arrived before its end. All messages that arrived
    /// before `heard_until` have been handled.
    pub(crate) fn postponed(self, now: Timestamp, heard_until: Timestamp) -> Option<Self> {
        let waits = self.until > heard_until;
        waits.then(|| Self { until: now + self.until.since(heard_until), ..self })
    }
}

impl AbsenceCause {
    /// Why a Worker is lost that did not return.
    pub(crate) fn loss(self) -> LossReason {
        match self {
            Self::Restart => LossReason::NotBack,
            Self::Disconnected => LossReason::Disconnected,
        }
    }

    /// How an application ends whose driver did not return.
    pub(crate) fn end(self) -> ApplicationEnd {
        match self {
            Self::Restart => ApplicationEnd::NotBack,
            Self::Disconnected => ApplicationEnd::DriverLost,
        }
    }
}

impl Link {
    /// The link of everybody while the Master is recovered. [`Master::recover`](crate::Master::recover) sets the times.
    /// In a snapshot, time does not pass for those who are away.
    pub(crate) const RECOVERED: Self = Self::Away(Absence {
        since: Timestamp::from_millis(0),
        until: Absence::NEVER,
        cause: AbsenceCause::Restart,
    });

    pub(crate) fn peer(self) -> Option<PeerId> {
        match self {
            Self::Here(peer) => Some(peer),
            Self::Away(_) => None,
        }
    }

    pub(crate) fn is_here(self) -> bool {
        self.peer().is_some()
    }

    /// When the connection ended, if the Worker or application is away for this reason.
    pub(crate) fn away_since(self) -> Option<Timestamp> {
        let absence = self.absence().filter(|absence| absence.cause == AbsenceCause::Disconnected);
        absence.map(|absence| absence.since)
    }

    pub(crate) fn absence(self) -> Option<Absence> {
        match self {
            Self::Here(_) => None,
            Self::Away(absence) => Some(absence),
        }
    }
}

impl From<PeerId> for Link {
    fn from(peer: PeerId) -> Self {
        Self::Here(peer)
    }
}
