//! What the session says besides its answers, in words.

use firesteel_engine::driver::TaskOutcome;
use firesteel_engine::session::{Complaint, Position, Remark};
use firesteel_placement::advanced::words::{are, counted, have};

use firesteel_daemons::remark;

/// Where a command is, as a prefix for messages: `line 3: `.
#[must_use]
pub fn place(position: &Position) -> String {
    match position {
        Position::Typed => String::new(),
        Position::Line(line) => format!("line {line}: "),
        Position::File { path, line } => format!("{}, line {line}: ", path.display()),
    }
}

/// A remark in words.
#[must_use]
pub fn remark(remark: &Remark) -> String {
    match remark {
        Remark::Driver(note) => remark::Remark(note).to_string(),
        Remark::TaskEnded { task, outcome } => {
            format!("task {task} {} (watch {task} shows its output)", ending(outcome))
        }
        Remark::OutputStartsOver(task) => format!("task {task} runs again: its output starts over"),
        Remark::Missing(shortfall) => shortfall.to_string(),
        Remark::IdleWord { position, word, command } => format!(
            "{}{word} has no meaning here: for a shell line write {command} sh -c '...'",
            place(position)
        ),
    }
}

/// The question whether to leave while this number of tasks run.
#[must_use]
pub fn tasks_run(open: usize) -> String {
    let (run, them) = if open == 1 { ("runs", "it") } else { ("run", "them") };
    let tasks = counted(open, "task");
    format!("{tasks} still {run}: quit again to cancel {them}, or wait")
}

/// A complaint in words.
#[must_use]
pub fn complaint(complaint: &Complaint) -> String {
    match complaint {
        Complaint::Unparsed(words)
        | Complaint::ItemsFailed { error: words }
        | Complaint::MapFailed { error: words } => words.clone(),
        Complaint::NoExecutor(id) => format!("no executor {id}; the command executors lists all"),
        Complaint::NoProfile(profile) => format!("no profile {profile}; the command profile list lists all"),
        Complaint::NoTask(task) => format!("no task {task}; the command tasks lists all"),
        Complaint::ForgottenTask(task) => {
            format!(
                "task {task} is no longer listed, or was an item of map; the command tasks --all lists the others"
            )
        }
        Complaint::NoBackgroundTask => "no background task; the command run COMMAND & starts one".to_owned(),
        Complaint::NotKept(task) => {
            format!("task {task} was not a background task: its output is not kept")
        }
        Complaint::HasEnded(task) => format!("task {task} has ended"),
        Complaint::CommandFailed { task, words, outcome } => {
            format!("task {task} ({words}) {}", ending(outcome))
        }
        Complaint::TaskFailed { task, outcome } => format!("task {task} {}", ending(outcome)),
        Complaint::OutputLost { task, loss } => format!("the output of task {task} {loss}"),
        Complaint::OutputUnreadable { error } => format!("cannot read the output: {error}"),
        Complaint::FewerWanted { wanted, count } => {
            format!("only {} {} wanted: request {count} first", counted(*wanted, "executor"), are(*wanted))
        }
        Complaint::NotReady { ready, count, limit } => format!(
            "{ready} of {} {} ready after {}",
            counted(*count, "executor"),
            are(*count),
            counted(limit.as_secs(), "second")
        ),
        Complaint::Refused(note) => note.to_string(),
        Complaint::NotEnded { left, limit } => {
            format!("{} {} not ended after {} s", counted(*left, "executor"), have(*left), limit.as_secs())
        }
        Complaint::NoMaster => "no Master is connected, and only a Master knows why; reconnecting".to_owned(),
        Complaint::MasterSilent { limit } => {
            format!("the Master has not answered for {} s", limit.as_secs())
        }
        Complaint::SourcesItself(path) => format!("{} sources itself", path.display()),
        Complaint::FileFailed { path, error } => format!("cannot read {}: {error}", path.display()),
        Complaint::MapCode(code) => format!("map: exit code {code}"),
    }
}

/// The outcome in words that follow `task 3`.
fn ending(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Succeeded { .. } => "succeeded".to_owned(),
        TaskOutcome::Failed { cause, failures: 1, .. } => format!("failed: {cause}"),
        TaskOutcome::Failed { cause, failures, .. } => format!("failed {failures} times: {cause}"),
        TaskOutcome::Cancelled => "was cancelled".to_owned(),
        TaskOutcome::Unfit(unfit) => format!("cannot run: {unfit}"),
    }
}
