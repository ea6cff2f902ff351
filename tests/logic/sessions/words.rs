//! What a session does, as a page shows it.

use std::fmt;

use firesteel_engine::session::{Answer, Effect, Message};
use firesteel_protocol::Kind;

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// An effect, on one line.
pub fn words(effect: &Effect) -> String {
    match effect {
        Effect::OfferNames(executors, tasks) => {
            format!("prompt <- complete executors [{}], tasks [{}]", list(executors), list(tasks))
        }
        Effect::WantLine => "prompt <- read a line".to_owned(),
        Effect::LeavePrompt => "prompt <- leave".to_owned(),
        Effect::Look => "driver <- show the tables".to_owned(),
        Effect::AskMaster => "driver <- ask the Master what is missing".to_owned(),
        Effect::ReadFile(path) => format!("disk <- read {}", path.display()),
        Effect::OpenItems(_) => "disk <- open the items".to_owned(),
        Effect::Forget => "(the answer is not waited for)".to_owned(),
        Effect::StartMap(start) => {
            format!("map run <- begin at task {} with {} executors", start.first, start.executors.len())
        }
        Effect::InterruptMap => "map run <- ctrl-c".to_owned(),
        Effect::Submit(task, request, place) => {
            format!("driver <- task {task}: {} ({place:?})", request.spec.command.program)
        }
        Effect::CancelTasks(tasks) => format!("driver <- cancel tasks {}", list(tasks)),
        Effect::RestartRecord(task) => format!("record of task {task} <- start over"),
        Effect::CloseRecord(task) => format!("record of task {task} <- complete"),
        Effect::DropRecord(task) => format!("record of task {task} <- drop"),
        Effect::Rewind(task) => format!("record of task {task} <- go to the beginning"),
        Effect::Replay(task) => format!("record of task {task} <- print the next piece"),
        Effect::RequestExecutors(profile, total) => {
            format!("driver <- {total} executors of profile {profile}")
        }
        Effect::KillExecutors(executors, replacement) => {
            format!("driver <- end executors {}, others {replacement:?}", list(executors))
        }
        Effect::AddProfile(profile, _, total) => format!("driver <- profile {profile}, {total} executors"),
        Effect::Print(answer) => format!("stdout <- {}", answered(answer)),
        Effect::Say(Message::Banner(view)) => {
            format!("stderr <- Banner with {} executors", view.executors.len())
        }
        Effect::Say(message) => format!("stderr <- {message:?}"),
        Effect::Complain(position, complaint) => format!("stderr <- {position}{complaint}"),
        Effect::Remark(remark) => format!("({remark})"),
        Effect::EndLine => "terminal <- end the line".to_owned(),
        Effect::ShowInterrupt => "terminal <- ^C".to_owned(),
        Effect::Settle => "terminal <- print everything".to_owned(),
        Effect::Mute => "terminal <- drop outputs".to_owned(),
        Effect::Unmute => "terminal <- print outputs again".to_owned(),
        Effect::EndApplication => "driver <- end the application".to_owned(),
        Effect::Finish(ending) => format!("the session is over: {ending:?}"),
    }
}

fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Requested(total, assigned) => format!("{total} requested, {assigned} assigned"),
        Answer::Ended(executors, wanted) => format!("ended {}, wanted {wanted:?}", list(executors)),
        Answer::ProfileAdded(profile, _, total, answer_state) => {
            format!("profile {profile} added, {total} executors ({answer_state:?})")
        }
        other => other.kind().to_owned(),
    }
}
