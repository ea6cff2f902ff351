//! Deliberate bugs: each must be caught, so that the invariants are known to bite.

use firesteel_world::cluster::{Sabotage, Scenario, Telling, run_sabotaged};

use crate::worlds;

/// Each bug, within how many small clusters it must be caught, and words of the sentence that catches it.
#[rustfmt::skip]
const BUGS: &[(Sabotage, u64, &str)] = &[
    (Sabotage::DropGiveBack, 10, "the Master counts"),
    (Sabotage::DoubleLaunch, 3, "is used again"),
    (Sabotage::ForgetWorker, 40, "which is gone"),
    (Sabotage::ForgetLeaving, 400, "which has said that it is about to end"),
    (Sabotage::SkipPersist, 20, "recovered"),
    (Sabotage::TellBeforeDurable, 1000, "the Master"),
    (Sabotage::ReplayTwice, 200, "cannot be recovered"),
    (Sabotage::EpochNotIncreased, 60, "two Masters speak in epoch"),
    (Sabotage::TellUnwritten, 100, "the Master"),
    (Sabotage::WriteUnfenced, 100, "recovered"),
    (Sabotage::SpeakAfterTenure, 60, "has begun"),
    (Sabotage::StandbyAnswers, 30, "a Master speaks that stands by"),
    (Sabotage::StandbyStaysOn, 60, "is not over an hour after the last fault"),
    (Sabotage::IgnoreEpoch, 60, "has met a later leader, and "),
    (Sabotage::AskOnce, 1_000, "is not asked again"),
    (Sabotage::StayOn, 200, "was asked to leave, and is still there"),
    (Sabotage::UseLeaving, 1000, "is given a task, and will leave"),
    (Sabotage::ForgetDriver, 200, "live applications, there are"),
    (Sabotage::DropKillExecutor, 10, "is taken back, and its Worker is not told to end it"),
    (Sabotage::ReuseExecutorId, 5, "is used again"),
    (Sabotage::WrongDriver, 10, "is told of executor"),
    (Sabotage::LaunchOnTheDead, 10, "which is no living Worker"),
    (Sabotage::OneCoreTooMany, 10, "and is given executors of"),
    (Sabotage::DropExecutorAdded, 3, "is not told that it was added"),
    (Sabotage::DropRegisteredWorker, 5, "which is gone"),
    (Sabotage::DropKilled, 150, "was killed, and its driver is not"),
    (Sabotage::MissTurn, 40, "its limit is"),
    (Sabotage::SplitGang, 100, "at once"),
    (Sabotage::StarveGang, 200, "is not over an hour after the last fault"),
    (Sabotage::StealReserved, 500, "that is kept for"),
    (Sabotage::ForgetPriority, 100, "which comes first in their queue"),
    (Sabotage::ForgetQueue, 1_000, "holds less of what it is owed"),
    (Sabotage::PreemptTooMany, 400, "the most are"),
    (Sabotage::PreemptPeers, 200, "which does not come before it"),
    (Sabotage::DropExecutorsGone, 10, "is left, and its driver is not told"),
    (Sabotage::EarlyExecutorsGone, 10, "is told that nothing of"),
    (Sabotage::ForgetOutcome, 40, "is listed with"),
    (Sabotage::LateKillForgetsOutcome, 1_000, "is listed with"),
    (Sabotage::JudgeByReading, 1_000, "is called silent, and its heartbeat arrived"),
    (Sabotage::TakeForAnswered, 400, "stays LAUNCHING where nobody has heard of it"),
    (Sabotage::MissFullDisk, 400, "which has said that it cannot write"),
    (Sabotage::SkipRow, 1_000, "pages of a state"),
    (Sabotage::TrustAnyToken, 200, "without its token"),
    (Sabotage::TrustAnySize, 200, "is believed to have 64 cores"),
    (Sabotage::ForgetBlame, 100, "ended early just now"),
    (Sabotage::NeverReadmit, 400, "is not over an hour after the last fault"),
    (Sabotage::HastyEnd, 200, "is ended for failures while executor"),
    (Sabotage::RunningTwice, 3, "is reported as RUNNING twice"),
    (Sabotage::LoseEnd, 40, "of which no process is left"),
    (Sabotage::StartTwice, 3, "is started twice by one Worker"),
    (Sabotage::ForgetWords, 3, "{{CORES}}"),
    (Sabotage::DropSignal, 100, "lives on though its Worker was told to end it"),
    (Sabotage::DropHeartbeat, 10, "is removed though nothing goes wrong any more"),
    (Sabotage::TrustFetch, 200, "is started before its files are there"),
    (Sabotage::FetchTwice, 10, "are fetched twice by one Worker"),
    (Sabotage::KeepFiles, 20, "still keeps the files of"),
    (Sabotage::EndLog, 1_000, "is said to be over while executor"),
    (Sabotage::KeepNothing, 20, "is not kept though an executor of it lives"),
    (Sabotage::RemoveTheLiving, 5, "is removed though an executor of it lives"),
    (Sabotage::RemoveLivingExecutor, 5, "is removed though it lives"),
    (Sabotage::ForgetUnregister, 40, "an application lost its driver"),
    (Sabotage::ClaimSuccess, 40, "its owner said"),
    (Sabotage::TrustAnySecret, 300, "is taken in without the secret"),
    (Sabotage::TrustAnyNumber, 40, "no Master has told of it"),
    (Sabotage::DoubleLaunchTask, 3, "is launched twice"),
    (Sabotage::DropOutputCredit, 5, "is not over an hour after the last fault"),
    (Sabotage::DoubleCredit, 5, "bytes under way, the limit is"),
    (Sabotage::DoubleOutput, 3, "are not what its program wrote there"),
    (Sabotage::DropOutput, 10, "bytes of output put away, its program wrote"),
    (Sabotage::DoubleTaskEnd, 3, "is told twice"),
    (Sabotage::DropTaskEnd, 3, "was never told"),
    (Sabotage::DropKillTask, 20, "was given up, and executor"),
    (Sabotage::EarlyCancelled, 10, "is told to be given up, and executor"),
    (Sabotage::DropAnswer, 60, "is not answered at once"),
    (Sabotage::DoubleAnswer, 10, "is answered, and was not open"),
    (Sabotage::Impatient, 100, "though host can be had"),
    (Sabotage::ForgetProfile, 20, "runs on executor"),
    (Sabotage::ForgetBinding, 60, "alone, and runs on"),
    (Sabotage::SameAddress, 1_000, "of gpu 0 between them"),
    (Sabotage::DropAddresses, 20, "and is given "),
    (Sabotage::AskForMore, 20, "are asked for, the maximum is"),
    (Sabotage::AskForNone, 20, "are asked for, the minimum is"),
    (Sabotage::KillNeighbours, 40, "is busy, and dynamic allocation ends it"),
    (Sabotage::DropKills, 800, "are idle for too long"),
    (Sabotage::IgnoreSilence, 1_000, "is not over an hour after the last fault"),
    (Sabotage::DropDriverHeartbeat, 100, "gives its driver up though nothing goes wrong any more"),
    (Sabotage::DropExecutorHeartbeat, 100, "is given up though nothing goes wrong any more"),
    (Sabotage::WrongCode, 40, "and its executors with"),
    (Sabotage::EndlessLaunch, 40, "and its executors have ended with"),
    (Sabotage::DropStatusUpdate, 5, "is not over an hour after the last fault"),
    (Sabotage::DoubleStatusUpdate, 3, "is reported to end twice"),
    (Sabotage::DoubleTaskOutput, 5, "with credit for"),
    (Sabotage::DropTaskOutput, 40, "bytes of output put away, its program wrote"),
    (Sabotage::LeaveTasks, 3, "tasks behind"),
    (Sabotage::DropExit, 5, "did not end when it was asked to"),
];

#[test]
fn every_deliberate_bug_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| {
        let outcome = run_sabotaged(Scenario::small(seed), sabotage, Telling::Silent);
        outcome.failure.map(|failure| failure.sentence)
    });
}

#[test]
fn every_deliberate_bug_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, Sabotage::ALL);
}
