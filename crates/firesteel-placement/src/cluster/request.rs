//! A demand, together with facts about its application that some policies need: its name, the present time and its run
//! time.

use std::time::Duration;

use crate::Demand;

/// A demand, together with facts about its application that some rules need. A `&Demand` converts to a request without
/// such facts.
///
/// Times are counted from a moment that the caller chooses, such as the beginning of a trace.
///
/// ```
/// use std::time::Duration;
///
/// use firesteel_placement::{Cluster, Cores, Demand, MiB, Policy, Request, Worker, WorkerOrder};
///
/// let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
/// cluster.add(Worker::new("w1", Cores(4), MiB(1024)));
/// let demand = Demand::default();
/// let request = Request::from(&demand).application("app-1").at(Duration::ZERO).runs_for(Duration::from_secs(60));
/// assert_eq!(cluster.place(request, &Policy::Lifetimes).executors().count(), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub(super) demand: &'a Demand,
    pub(super) application: Option<&'a str>,
    pub(super) now: Option<Duration>,
    pub(super) runs_for: Option<Duration>,
}

impl<'a> Request<'a> {
    /// The name of the application. [`Policy::SpreadHeld`](crate::Policy::SpreadHeld) counts the executors that were
    /// placed under the same name. Without a name, the policy assumes that the application holds none.
    #[must_use]
    pub fn application(self, name: &'a str) -> Self {
        Self { application: Some(name), ..self }
    }

    /// The time of the placement. [`Policy::Lifetimes`](crate::Policy::Lifetimes) compares it with the times of earlier
    /// placements.
    #[must_use]
    pub fn at(self, now: Duration) -> Self {
        Self { now: Some(now), ..self }
    }

    /// How long the executors are expected to run, for [`Policy::Lifetimes`](crate::Policy::Lifetimes).
    #[must_use]
    pub fn runs_for(self, time: Duration) -> Self {
        Self { runs_for: Some(time), ..self }
    }
}

impl<'a> From<&'a Demand> for Request<'a> {
    fn from(demand: &'a Demand) -> Self {
        Self { demand, application: None, now: None, runs_for: None }
    }
}
