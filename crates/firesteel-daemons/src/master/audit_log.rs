//! The audit lines of a Master's log: who requested what, from where, and with what result.

use std::net::IpAddr;

use firesteel_host::net::PeerInfo;
use firesteel_host::net::conversation::Conversation;
use firesteel_master::{Action, Audit, Verdict};
use firesteel_protocol::Mentions;
use firesteel_protocol::messages::WaitingMachine;
use firesteel_protocol::process::Quoted;

/// The target of audit lines. The log contains them at every level of `--quiet`.
pub const TARGET: &str = "audit";

/// Writes an audit line. `peer` describes the connection on which the request came.
pub(super) fn write(audit: &Audit, peer: Option<&PeerInfo>) {
    let Mentions { app, executor: _, worker, driver, peer: number } = audit.mentions();
    let remote = peer.map(|peer| peer.remote);
    let from = remote.map_or_else(|| "a connection that is gone".to_owned(), |remote| remote.to_string());
    // Requests without a name come from a client that has one.
    let who = audit.by.as_deref().or(peer.map(|peer| peer.name.as_str())).unwrap_or("somebody");
    // Quoted, so that a name cannot look like the rest of the line. Requests over HTTP have no port here: this daemon
    // has named their sender.
    let is_proven = peer.is_some_and(|peer| peer.has_proven_user);
    let sender = match remote.is_some_and(|remote| remote.port() == 0) {
        true => Quoted(who).to_string(),
        false if is_proven => format!("{from} is {}", Quoted(who)),
        false => format!("{from} says it is {}", Quoted(who)),
    };
    tracing::info!(
        target: TARGET,
        {
            id.audit = audit.action.name(),
            id.who = who,
            id.from = from,
            id.target = audit.target,
            id.outcome = audit.verdict.name(),
            id.app = app.map(display),
            id.worker = worker.map(display),
            id.driver = driver.map(display),
            id.peer = number.map(display)
        },
        "{sender}: {audit}"
    );
}

/// Writes the audit line about a machine that an administrator admits, or does not.
pub(super) fn approve(who: &str, conversation: &Conversation, outcome: Result<&WaitingMachine, &String>) {
    const ACTION: &str = "approve-worker";
    let (from, verb) =
        (conversation.remote(), if conversation.user().is_some() { "is" } else { "says it is" });
    let (target, verdict, detail) = match outcome {
        Ok(machine) => {
            (machine.host.as_str(), Verdict::Done, format!("{} at {}", machine.host, machine.from))
        }
        Err(why) => ("", Verdict::Refused, why.clone()),
    };
    let verdict = verdict.name();
    tracing::info!(
        target: TARGET,
        { id.audit = ACTION, id.who = who, id.from = %from, id.target = target, id.outcome = verdict },
        "{from} {verb} {}: {ACTION} {target:?}: {verdict}: {detail}",
        Quoted(who)
    );
}

/// Writes the audit line of a submission by REST that the Master is not asked for, because of what it would run.
pub(crate) fn refuse_resource(who: &str, from: IpAddr, resource: &str, why: &str) {
    let (action, verdict) = (Action::SubmitDriver.name(), Verdict::Refused.name());
    tracing::info!(
        target: TARGET,
        { id.audit = action, id.who = who, id.from = %from, id.target = resource, id.outcome = verdict },
        "{}: {action} {resource:?}: {verdict}: {why}",
        Quoted(who)
    );
}
