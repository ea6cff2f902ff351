//! The states of applications, with YARN's names.

use firesteel_yarn::messages::application::{
    ApplicationReport, YarnApplicationAttemptState, YarnApplicationState,
};
use firesteel_yarn::messages::records::FinalApplicationStatus;

/// Every state of an application, in the order in which they occur.
pub const STATES: [YarnApplicationState; 8] = [
    YarnApplicationState::New,
    YarnApplicationState::NewSaving,
    YarnApplicationState::Submitted,
    YarnApplicationState::Accepted,
    YarnApplicationState::Running,
    YarnApplicationState::Finished,
    YarnApplicationState::Failed,
    YarnApplicationState::Killed,
];

/// The name of a state, such as `RUNNING`.
#[must_use]
pub fn state(state: YarnApplicationState) -> &'static str {
    match state {
        YarnApplicationState::New => "NEW",
        YarnApplicationState::NewSaving => "NEW_SAVING",
        YarnApplicationState::Submitted => "SUBMITTED",
        YarnApplicationState::Accepted => "ACCEPTED",
        YarnApplicationState::Running => "RUNNING",
        YarnApplicationState::Finished => "FINISHED",
        YarnApplicationState::Failed => "FAILED",
        YarnApplicationState::Killed => "KILLED",
    }
}

/// The name of a final status, such as `SUCCEEDED`, which the application itself reports.
#[must_use]
pub fn final_status(status: FinalApplicationStatus) -> &'static str {
    match status {
        FinalApplicationStatus::Undefined => "UNDEFINED",
        FinalApplicationStatus::Succeeded => "SUCCEEDED",
        FinalApplicationStatus::Failed => "FAILED",
        FinalApplicationStatus::Killed => "KILLED",
        FinalApplicationStatus::Ended => "ENDED",
    }
}

/// The name of an attempt's state, such as `LAUNCHED`.
#[must_use]
pub fn attempt_state(state: YarnApplicationAttemptState) -> &'static str {
    match state {
        YarnApplicationAttemptState::New => "NEW",
        YarnApplicationAttemptState::Submitted => "SUBMITTED",
        YarnApplicationAttemptState::Scheduled => "SCHEDULED",
        YarnApplicationAttemptState::AllocatedSaving => "ALLOCATED_SAVING",
        YarnApplicationAttemptState::Allocated => "ALLOCATED",
        YarnApplicationAttemptState::Launched => "LAUNCHED",
        YarnApplicationAttemptState::Failed => "FAILED",
        YarnApplicationAttemptState::Running => "RUNNING",
        YarnApplicationAttemptState::Finishing => "FINISHING",
        YarnApplicationAttemptState::Finished => "FINISHED",
        YarnApplicationAttemptState::Killed => "KILLED",
    }
}

/// Whether the state is final.
#[must_use]
pub fn is_over(state: YarnApplicationState) -> bool {
    match state {
        YarnApplicationState::Finished | YarnApplicationState::Failed | YarnApplicationState::Killed => true,
        YarnApplicationState::New
        | YarnApplicationState::NewSaving
        | YarnApplicationState::Submitted
        | YarnApplicationState::Accepted
        | YarnApplicationState::Running => false,
    }
}

/// The beginnings of lines of YARN's that say nothing about the reason.
const NOISE: [&str; 6] = [
    "Error file: ",
    "Last 4096 bytes of ",
    "For more detailed output, ",
    "Then click on links ",
    ". Failing the application.",
    "Exception from container-launch.",
];

/// The reasons in a report, on one line and without repetitions. `None` if the report contains no reason.
#[must_use]
pub fn diagnostics(report: &ApplicationReport) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in report.diagnostics().lines().map(without_time) {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_noise = NOISE.iter().any(|noise| line.starts_with(noise));
        if !line.is_empty() && line != "N/A" && !is_noise && !kept.contains(&line) {
            kept.push(line);
        }
    }
    Some(kept.join(" ")).filter(|words| !words.is_empty())
}

/// The line without the time at its beginning, such as `[2026-11-21 10:50:42.986]`.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    let stamped = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match stamped {
        Some((time, rest)) if time.contains(':') && time.starts_with(|c: char| c.is_ascii_digit()) => rest,
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_on_one_line_if_there_are_any() {
        let report = |text: &str| ApplicationReport {
            diagnostics: Some(text.to_owned()),
            ..ApplicationReport::default()
        };
        assert_eq!(
            diagnostics(&report("[Sat Nov 21]\n  no room\n")).as_deref(),
            Some("[Sat Nov 21] no room")
        );
        for nothing in ["", "  \n", "N/A"] {
            assert_eq!(diagnostics(&report(nothing)), None);
        }
        assert_eq!(diagnostics(&ApplicationReport::default()), None, "Hadoop's default is N/A");
    }

    #[test]
    fn three_states_are_the_last() {
        let over: Vec<_> = STATES.into_iter().filter(|state| is_over(*state)).map(state).collect();
        assert_eq!(over, ["FINISHED", "FAILED", "KILLED"]);
    }
}
