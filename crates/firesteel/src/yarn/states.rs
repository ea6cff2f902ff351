//! How applications stand, by the names that YARN gives it.

use firesteel_yarn::messages::application::{
    ApplicationReport, FinalApplicationStatus, YarnApplicationAttemptState, YarnApplicationState,
};

/// Every state of an application, in the order of a life.
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

/// `RUNNING`.
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

/// `SUCCEEDED`: how it ended in its own words.
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

/// `LAUNCHED`.
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

/// Whether nothing more happens to it.
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

/// What a report says of the reasons, on one line; nothing if it says none.
#[must_use]
pub fn diagnostics(report: &ApplicationReport) -> Option<String> {
    let words: Vec<&str> = report.diagnostics().split_whitespace().collect();
    Some(words.join(" ")).filter(|words| !words.is_empty() && words != "N/A")
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
