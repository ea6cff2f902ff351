//! The list of deliberate bugs. Each bug proves that some invariant is checked.
//!
//! The `saboteur` changes a machine's events and effects as if the machine had the bug.

pub(super) mod saboteur;

use firesteel_protocol::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("sabotage")]
pub enum Sabotage {
    /// The Master misses an executor's end and never frees the executor's resources.
    DropGiveBack,
    /// The Master launches an executor twice.
    DoubleLaunch,
    /// The Master misses that a Worker's connection ended.
    ForgetWorker,
    /// The Master waits for only a few seconds for a Worker or driver whose connection ended.
    LoseAway,
    /// The Master waits for minutes for a Worker or driver whose connection ended.
    AwaitForLong,
    /// The Master has logs read for everybody who asks.
    TrustReaders,
    /// The Master does not repeat an order to launch an executor that was lost with a Worker's connection.
    DropLostOrder,
    /// The Master keeps descriptions of twice the size that it may keep.
    KeepTooMuch,
    /// The Master refuses descriptions when half of its memory for them is taken.
    RefuseEarly,
    /// The Master gives users twice the cores that each may have.
    GiveUsersMore,
    /// The Master misses that a Worker is about to end.
    ForgetLeaving,
    /// A Worker without processes announces its end, and the Master reports it as lost.
    MournLeft,
    /// The Master does not count heartbeats.
    IgnoreHeartbeat,
    /// The Master misses that a driver's connection ended.
    ForgetDriver,
    /// The Master does not order an executor's end.
    DropKillExecutor,
    /// The Master gives an executor the number of the previous executor.
    ReuseExecutorId,
    /// The Master reports an executor's state to another application's driver.
    WrongDriver,
    /// The Master sends an order to launch an executor to the wrong peer.
    LaunchOnTheDead,
    /// The Master gives an executor one core more than the Master itself counts.
    OneCoreTooMany,
    /// The Master does not report a new executor to the driver.
    DropExecutorAdded,
    /// The Master does not answer a Worker's registration.
    DropRegisteredWorker,
    /// The Master does not tell a driver that its application was killed.
    DropKilled,
    /// An executor ends by itself, but the Master counts it as ended by its Worker.
    MissTurn,
    /// The Master gives an application only a part of its gang.
    SplitGang,
    /// The Master never finds enough free resources for gangs.
    StarveGang,
    /// The Master gives reserved resources to applications behind a waiting gang.
    StealReserved,
    /// The Master assumes that every application runs for only one second, and therefore lends it reserved resources.
    LendToAll,
    /// The Master confuses the priorities in a queue.
    ForgetPriority,
    /// The Master puts all applications into one queue.
    ForgetQueue,
    /// The Master preempts more executors than allowed.
    PreemptTooMany,
    /// The Master preempts executors for applications whose priority is not higher.
    PreemptPeers,
    /// The Master preempts executors for a gang that has not waited long, or executors that have run for long.
    PreemptForAnyGang,
    /// The Master does not report that all executors of an ended application are gone.
    DropExecutorsGone,
    /// The Master reports that all executors are gone as soon as they are told to end.
    EarlyExecutorsGone,
    /// The Master misses the outcome that the driver reports.
    ForgetOutcome,
    /// When a client kills an application that has ended, the Master does not report the application's outcome.
    LateKillForgetsOutcome,
    /// The Master treats Workers as silent although their heartbeats wait unread.
    JudgeByReading,
    /// The Master misses that a Worker cannot write.
    MissFullDisk,
    /// The driver misses that an executor gave a task back.
    CountShortages,
    /// The Master does not record some of its decisions.
    SkipPersist,
    /// The Master sends messages about decisions before the decisions are durable.
    TellBeforeDurable,
    /// The Master replays the last records twice.
    ReplayTwice,
    /// The next leader's epoch is not greater than that of the former leader.
    EpochNotIncreased,
    /// A leader that cannot write still sends messages about its decisions.
    TellUnwritten,
    /// A former leader still writes to the journal after the next leader has begun.
    WriteUnfenced,
    /// A former leader sends messages after its lease is over.
    SpeakAfterLease,
    /// A standby claims to lead, and registers Workers.
    StandbyAnswers,
    /// A standby does not hang up when another leader begins.
    StandbyStaysOn,
    /// The Master tells a Worker only once to leave.
    AskOnce,
    /// The Master omits a row from each page of its state.
    SkipRow,
    /// The Master treats every order to launch an executor as confirmed.
    TakeForAnswered,
    /// The Master treats every token as the right one.
    TrustAnyToken,
    /// The Master accepts any number of cores.
    TrustAnySize,
    /// The Master immediately ends executors that the former Master launched.
    EndForeign,
    /// The Master excludes no Worker.
    ForgetFailureHistory,
    /// The Master excludes Workers for a day.
    NeverReadmit,
    /// The Master ends an application after its second failure.
    HastyEnd,
    /// Workers, drivers and launchers forget the epochs of the Masters that they have met.
    IgnoreEpoch,
    /// The Master misses the end of a cluster driver.
    MissDriverEnd,
    /// The Master does not order the end of a cluster driver.
    DropKillDriver,
    /// The Master does not tell a Worker the custom resources of a cluster driver.
    ForgetDriverAddresses,
    /// The Worker does not start a cluster driver.
    DropDriver,
    /// The Worker starts a cluster driver twice.
    DoubleLaunchDriver,
    /// The Worker forgets that a cluster driver is supervised.
    ForgetSupervise,
    /// The Worker reports RUNNING twice.
    RunningTwice,
    /// The Worker does not report an executor's end, and forgets it.
    LoseEnd,
    /// The Worker does not report its running executors when it registers again.
    LoseRunning,
    /// The Worker starts an executor twice.
    StartTwice,
    /// The Worker does not fill in the placeholders of a command.
    ForgetWords,
    /// The Worker never signals an executor that the Worker was told to end.
    DropSignal,
    /// The Worker misses the request to leave.
    StayOn,
    /// The Worker stops its heartbeats.
    DropHeartbeat,
    /// The Worker treats files that it could not fetch as fetched.
    TrustFetch,
    /// The Worker fetches files twice.
    FetchTwice,
    /// The Worker never removes files.
    KeepFiles,
    /// The Worker reports the end of a log too early.
    EndLog,
    /// The Worker includes live applications in its search for old directories.
    KeepNothing,
    /// The Worker removes the directory of an application whose executor it starts.
    RemoveTheLiving,
    /// The Worker removes the directory of an executor that it has just started.
    RemoveLivingExecutor,
    /// The driver misses that an executor will leave.
    UseLeaving,
    /// The driver never unregisters its application.
    ForgetUnregister,
    /// The driver always reports success.
    ClaimSuccess,
    /// The driver treats every secret as the right one.
    TrustAnySecret,
    /// The driver accepts an executor that no Master has announced.
    TrustAnyNumber,
    /// The driver launches an attempt twice.
    DoubleLaunchTask,
    /// The driver grants no more output credit.
    DropOutputCredit,
    /// The driver grants output credit twice.
    DoubleCredit,
    /// The driver stores a piece of output twice.
    DoubleOutput,
    /// The driver loses a piece of output.
    DropOutput,
    /// The driver reports a task's end twice.
    DoubleTaskEnd,
    /// The driver never reports a task's end.
    DropTaskEnd,
    /// The driver does not tell an executor that a task was cancelled.
    DropKillTask,
    /// The driver reports a task's end as soon as the task was cancelled.
    EarlyCancelled,
    /// The driver does not answer a question.
    DropAnswer,
    /// The driver answers a question twice.
    DoubleAnswer,
    /// The driver does not wait for the preferred hosts of tasks.
    Impatient,
    /// The driver forgets the profile of a task.
    ForgetProfile,
    /// The driver forgets that a task is bound to one executor.
    ForgetBinding,
    /// The driver gives every task the same address.
    SameAddress,
    /// The driver gives tasks no addresses.
    DropAddresses,
    /// The Master gives an executor a whole address instead of a part of it.
    WholeForPart,
    /// The Master gives an executor a part of an address that is twice as large as requested.
    GrowPart,
    /// The Master takes parts of addresses from the first address, even if it is fully used.
    FirstAddress,
    /// The Master forgets the kinds of the addresses that it assigns.
    ForgetKind,
    /// The driver treats a part of an address as the whole address.
    TakeForWhole,
    /// The driver requests a hundred executors too many.
    AskForMore,
    /// The driver requests no executors.
    AskForNone,
    /// The driver ends other executors together with an idle one.
    KillNeighbours,
    /// The driver does not end idle executors.
    DropKills,
    /// The driver does not check whether executors are silent.
    IgnoreSilence,
    DropDriverHeartbeat,
    /// The launcher ends with an exit code that differs from its executors' code.
    WrongCode,
    /// The launcher does not tell its Master that it ends.
    EndlessLaunch,
    DropExecutorHeartbeat,
    /// The executor forgets how many messages it received before its connection broke.
    ForgetReceived,
    /// The driver does not send a lost message again when an executor returns.
    DropResent,
    /// The executor sends its lost messages again twice.
    DoubleResent,
    /// The driver and its executors give each other up when their connection breaks.
    GiveUpAway,
    /// The driver does not tell its executors how many messages it has received.
    NeverAcknowledge,
    /// The executor does not send its lost messages again.
    ForgetResent,
    /// The executor does not report a task's end.
    DropStatusUpdate,
    /// The executor reports a task's end twice.
    DoubleStatusUpdate,
    /// The executor sends a piece of output twice.
    DoubleTaskOutput,
    /// The executor loses a piece of output.
    DropTaskOutput,
    /// The executor ends and leaves its tasks running.
    LeaveTasks,
    /// The executor does not end when it should.
    DropExit,
}

impl Sabotage {
    pub const ALL: &'static [Self] = &[
        Self::DropGiveBack,
        Self::DoubleLaunch,
        Self::ForgetWorker,
        Self::LoseAway,
        Self::TrustReaders,
        Self::AwaitForLong,
        Self::DropLostOrder,
        Self::KeepTooMuch,
        Self::RefuseEarly,
        Self::GiveUsersMore,
        Self::ForgetLeaving,
        Self::MournLeft,
        Self::IgnoreHeartbeat,
        Self::ForgetDriver,
        Self::DropKillExecutor,
        Self::ReuseExecutorId,
        Self::WrongDriver,
        Self::LaunchOnTheDead,
        Self::OneCoreTooMany,
        Self::DropExecutorAdded,
        Self::DropRegisteredWorker,
        Self::DropKilled,
        Self::MissTurn,
        Self::SplitGang,
        Self::StarveGang,
        Self::StealReserved,
        Self::LendToAll,
        Self::ForgetPriority,
        Self::ForgetQueue,
        Self::PreemptTooMany,
        Self::PreemptPeers,
        Self::PreemptForAnyGang,
        Self::DropExecutorsGone,
        Self::EarlyExecutorsGone,
        Self::ForgetOutcome,
        Self::LateKillForgetsOutcome,
        Self::JudgeByReading,
        Self::TakeForAnswered,
        Self::MissFullDisk,
        Self::CountShortages,
        Self::SkipPersist,
        Self::TellBeforeDurable,
        Self::ReplayTwice,
        Self::EpochNotIncreased,
        Self::TellUnwritten,
        Self::WriteUnfenced,
        Self::SpeakAfterLease,
        Self::StandbyAnswers,
        Self::StandbyStaysOn,
        Self::AskOnce,
        Self::SkipRow,
        Self::TrustAnyToken,
        Self::TrustAnySize,
        Self::EndForeign,
        Self::ForgetFailureHistory,
        Self::NeverReadmit,
        Self::HastyEnd,
        Self::IgnoreEpoch,
        Self::MissDriverEnd,
        Self::DropKillDriver,
        Self::ForgetDriverAddresses,
        Self::DropDriver,
        Self::DoubleLaunchDriver,
        Self::ForgetSupervise,
        Self::RunningTwice,
        Self::LoseEnd,
        Self::LoseRunning,
        Self::StartTwice,
        Self::ForgetWords,
        Self::DropSignal,
        Self::StayOn,
        Self::DropHeartbeat,
        Self::TrustFetch,
        Self::FetchTwice,
        Self::KeepFiles,
        Self::EndLog,
        Self::KeepNothing,
        Self::RemoveTheLiving,
        Self::RemoveLivingExecutor,
        Self::UseLeaving,
        Self::ForgetUnregister,
        Self::ClaimSuccess,
        Self::TrustAnySecret,
        Self::TrustAnyNumber,
        Self::DoubleLaunchTask,
        Self::DropOutputCredit,
        Self::DoubleCredit,
        Self::DoubleOutput,
        Self::DropOutput,
        Self::DoubleTaskEnd,
        Self::DropTaskEnd,
        Self::DropKillTask,
        Self::EarlyCancelled,
        Self::DropAnswer,
        Self::DoubleAnswer,
        Self::Impatient,
        Self::ForgetProfile,
        Self::ForgetBinding,
        Self::SameAddress,
        Self::DropAddresses,
        Self::WholeForPart,
        Self::GrowPart,
        Self::FirstAddress,
        Self::ForgetKind,
        Self::TakeForWhole,
        Self::AskForMore,
        Self::AskForNone,
        Self::KillNeighbours,
        Self::DropKills,
        Self::IgnoreSilence,
        Self::DropDriverHeartbeat,
        Self::DropExecutorHeartbeat,
        Self::WrongCode,
        Self::EndlessLaunch,
        Self::ForgetReceived,
        Self::DropResent,
        Self::DoubleResent,
        Self::GiveUpAway,
        Self::NeverAcknowledge,
        Self::ForgetResent,
        Self::DropStatusUpdate,
        Self::DoubleStatusUpdate,
        Self::DoubleTaskOutput,
        Self::DropTaskOutput,
        Self::LeaveTasks,
        Self::DropExit,
    ];

    /// The name of the bug in the list of all bugs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sabotage_is_in_the_list_of_all_once() {
        let listed: std::collections::BTreeSet<usize> = Sabotage::ALL.iter().map(Kind::index).collect();
        assert_eq!(listed.len(), Sabotage::NAMES.len());
    }
}
