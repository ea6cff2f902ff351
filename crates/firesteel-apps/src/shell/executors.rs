//! The session's commands for executors: request them, wait for them, and end them.

use std::time::Duration;

use firesteel_core::driver::{Allocation, ExecutorView, Replacement, View};
use firesteel_core::ids::{ExecutorId, ProfileId};
use firesteel_core::messages::ResourceProfile;
use firesteel_placement::words::{are, counted, have, noun};
use firesteel_placement::{ExecutorLimit, Shortfall};
use tokio::time::{Instant, timeout};

use super::answers;
use super::end::End;
use super::reports::{Refusal, Step};
use super::request::{Surplus, TaskShare};
use super::session::{Served, Session, TICK};

/// Timeout for the Master's answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a command waits for requested executors, or for executors to end.
const COME: Duration = Duration::from_secs(2);
const GO: Duration = Duration::from_secs(15);

/// The result of a question to the Master.
enum MastersAnswer {
    /// The missing executors, by profile.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
    /// No Master has the application at the moment.
    NoMaster,
    /// The Master did not answer in time.
    Silent,
    /// The user pressed ctrl-c.
    Interrupted,
}

/// A resource profile that the session added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedProfile {
    /// Number of the profile.
    pub id: ProfileId,
    /// Resources of the profile's executors.
    pub needs: ResourceProfile,
    /// Share of an executor that a task takes.
    pub task: TaskShare,
}

impl Session {
    pub(super) async fn wait_for_executors(&mut self, count: usize, limit: Duration) -> Served {
        let until = Instant::now() + limit;
        loop {
            let view = self.view().await?;
            let ready = answers::ready(&view).len();
            if ready >= count {
                return Ok(0);
            }
            if let Some(wanted) = self.wanted(&view).filter(|wanted| *wanted < count as u64) {
                let words = format!(
                    "only {} {} wanted: request {count} first",
                    counted(wanted, "executor"),
                    are(wanted)
                );
                return self.complain(1, words);
            }
            let now = Instant::now();
            if now >= until {
                let words = format!(
                    "{ready} of {} {} ready after {}",
                    counted(count, "executor"),
                    are(count),
                    counted(limit.as_secs(), "second")
                );
                let code = self.complain(1, words)?;
                self.why().await?;
                return Ok(code);
            }
            if self.step(Some(until.min(now + TICK))).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
    }

    /// The number of requested executors in all profiles, if it is limited and changes only on
    /// request.
    fn wanted(&self, view: &View) -> Option<u64> {
        let totals = view.targets.iter().map(|(_, limit)| match limit {
            ExecutorLimit::AtMost(total) => Some(*total),
            ExecutorLimit::Unlimited => None,
        });
        totals.sum::<Option<u64>>().filter(|_| self.allocation == Allocation::Fixed)
    }

    pub(super) async fn request(&mut self, total: u64, profile: ProfileId, surplus: Surplus) -> Served {
        let view = self.view().await?;
        if !view.targets.iter().any(|(known, _)| *known == profile) {
            return self.complain(1, format_args!("no profile {profile}: profile list shows all"));
        }
        self.refusal = Refusal::Awaited;
        let _ = self.driver.request_executors(profile, total).await;
        // The driver's report comes before its tables. The Master refuses nothing here.
        self.view().await?;
        if let Refusal::Came(words) = std::mem::take(&mut self.refusal) {
            return self.complain(1, words);
        }
        let of = |view: &View| {
            let mine = |executor: &&ExecutorView| executor.profile == profile;
            view.executors.iter().filter(mine).cloned().collect::<Vec<_>>()
        };
        let mut here = of(&view);
        let wanted = usize::try_from(total).unwrap_or(usize::MAX);
        if here.len() > wanted && surplus == Surplus::Ends {
            // Idle executors come first, then the youngest.
            here.sort_by_key(|executor| (executor.running.len(), std::cmp::Reverse(executor.id)));
            let surplus = here[..here.len() - wanted].iter().map(|executor| executor.id).collect();
            // The requested number is set already, so no replacements come.
            return self.end_executors(surplus, Replacement::Wanted).await;
        }
        let until = Instant::now() + COME;
        while of(&self.view().await?).len() < wanted && Instant::now() < until {
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
        let here = of(&self.view().await?).len();
        let all = format!(
            "{} {} wanted in all, and {here} {} assigned",
            counted(total, "executor"),
            are(total),
            are(here)
        );
        if here > wanted {
            let stay = here - wanted;
            self.console
                .print(format!("{all}: {stay} more than that, until killed (request {total} --kill)\n"));
            return Ok(0);
        }
        self.console.print(format!("{all}\n"));
        if here < wanted { self.why().await } else { Ok(0) }
    }

    pub(super) async fn kill(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) -> Served {
        let view = self.view().await?;
        let unknown = executors.iter().find(|id| !view.executors.iter().any(|executor| executor.id == **id));
        if let Some(id) = unknown {
            return self.complain(1, format_args!("no executor {id}: executors shows all"));
        }
        self.end_executors(executors, replacement).await
    }

    /// Ends executors, and waits until they have ended.
    async fn end_executors(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) -> Served {
        let _ = self.driver.kill_executors(executors.clone(), replacement).await;
        let until = Instant::now() + GO;
        loop {
            let view = self.view().await?;
            let left = view.executors.iter().filter(|executor| executors.contains(&executor.id)).count();
            if left == 0 {
                break;
            }
            let now = Instant::now();
            if now >= until {
                let words = format!(
                    "{} {} not ended after {} s",
                    counted(left, "executor"),
                    have(left),
                    GO.as_secs()
                );
                return self.complain(1, words);
            }
            if self.step(Some(now + TICK)).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
        let numbers: Vec<String> = executors.iter().map(ToString::to_string).collect();
        let (noun, have) = (noun(numbers.len(), "executor"), have(numbers.len()));
        let ended = format!("{noun} {} {have} ended", numbers.join(", "));
        let view = self.view().await?;
        match self.wanted(&view).filter(|_| replacement == Replacement::Unwanted) {
            Some(wanted) => {
                let wanted = format!("{} {}", counted(wanted, "executor"), are(wanted));
                self.console.print(format!("{ended}, and {wanted} wanted in all from now on\n"));
            }
            None => self.console.print(format!("{ended}\n")),
        }
        Ok(0)
    }

    pub(super) async fn why(&mut self) -> Served {
        let answer = self.ask_master().await?;
        let view = self.view().await?;
        match answer {
            MastersAnswer::Shortfalls(shortfalls) => {
                self.console.print(answers::why(&shortfalls, &view));
                Ok(0)
            }
            MastersAnswer::NoMaster => {
                let words = "no Master is connected, and only a Master knows why; reconnecting";
                self.complain(1, words)
            }
            MastersAnswer::Silent => {
                self.complain(1, format_args!("the Master has not answered for {} s", ANSWER.as_secs()))
            }
            MastersAnswer::Interrupted => self.interrupted(),
        }
    }

    /// Asks the Master which executors are missing. Its answers to earlier requests have arrived by
    /// then, too.
    async fn ask_master(&mut self) -> Result<MastersAnswer, End> {
        let driver = self.driver.clone();
        let mut asking = Box::pin(timeout(ANSWER, async move { driver.explain().await }));
        loop {
            tokio::select! {
                answer = &mut asking => return Ok(match answer {
                    Ok(Ok(Some(shortfalls))) => MastersAnswer::Shortfalls(shortfalls),
                    Ok(Ok(None) | Err(_)) => MastersAnswer::NoMaster,
                    Err(_) => MastersAnswer::Silent,
                }),
                step = self.step(None) => if step? == Step::Interrupted {
                    return Ok(MastersAnswer::Interrupted);
                },
            }
        }
    }

    /// The added profile with this number.
    pub(super) fn added(&self, profile: ProfileId) -> Option<&AddedProfile> {
        self.profiles.iter().find(|added| added.id == profile)
    }

    pub(super) async fn add_profile(
        &mut self,
        needs: ResourceProfile,
        task: TaskShare,
        total: u64,
    ) -> Served {
        let view = self.view().await?;
        let last = view.targets.iter().map(|(profile, _)| profile.0).max().unwrap_or(0);
        let profile = ProfileId(last.saturating_add(1));
        self.refusal = Refusal::Awaited;
        let _ = self.driver.add_profile(profile, needs.clone(), total).await;
        let answer = self.ask_master().await?;
        // The report comes before the answer.
        self.hear().await?;
        if let Refusal::Came(words) = std::mem::take(&mut self.refusal) {
            return self.complain(1, words);
        }
        let wanted = format!("{} {}", counted(total, "executor"), are(total));
        let each = answers::words(&needs);
        self.profiles.push(AddedProfile { id: profile, needs, task });
        match answer {
            MastersAnswer::Shortfalls(_) => {
                self.console.print(format!("profile {profile}: {wanted} wanted, each with {each}\n"));
                Ok(0)
            }
            MastersAnswer::NoMaster | MastersAnswer::Silent => {
                self.console.print(format!(
                    "profile {profile}: {wanted} asked for, each with {each}: no Master has answered yet\n"
                ));
                Ok(0)
            }
            MastersAnswer::Interrupted => self.interrupted(),
        }
    }
}
