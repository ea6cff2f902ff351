//! The ApplicationMaster's daemon: it runs the state machine of [`firesteel_application_master`].
//!
//! ```text
//!                       owner loop (ApplicationMaster)
//!   drivers, clients  <-> |     |      |  effects: Register, Allocate, Unregister
//!                         |     |      `--> manager.rs: one task, one client of the ResourceManager --> Event
//!                         |     `---------> launches.rs: a bounded number of calls to NodeManagers ---> Event
//!                         `---------------> program.rs: the child process of cluster mode ------------> Event
//! ```
//!
//! The other files: `attempt.rs` identifies the attempt, `settings.rs` reads the ApplicationMaster's settings,
//! `shell.rs` performs the effects, and `context.rs` and `quoting.rs` describe an executor to a NodeManager.
//!
//! In a container, `firesteel application-master --blueprint FILE` runs the daemon, and the environment describes the
//! attempt ([`Attempt::of_container`]). In unmanaged mode, the daemon is a task of the submitting process:
//!
//! ```text
//! let attempt = Attempt { id, token, host: "127.0.0.1".into() };     // both of the ApplicationReport
//! tokio::spawn(application_master::run(blueprint, attempt, EndRequests::none()));
//! ```

mod attempt;
mod context;
mod launches;
mod manager;
mod program;
pub(super) mod quoting;
mod settings;
mod shell;

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use firesteel_application_master::{ApplicationMaster, Event, Exit, Inbound, Staging};
use firesteel_protocol::address::Address;
use firesteel_protocol::wire::{self, DecodeError, Role};
use firesteel_yarn::ipc::Retry;
use firesteel_yarn::{AmRmClient, NmClient};
use tokio::task::spawn_blocking;

use self::context::Launching;
use self::launches::Launches;
use self::manager::Manager;
use self::program::Programs;
use self::shell::ApplicationMasterShell;
use super::blueprint::{Blueprint, BlueprintError, Deploy};
use super::staging;
use firesteel_host::clock::Clock;
use firesteel_host::daemon;
use firesteel_host::net::{AcceptedRole, Arrival, ListenError, Listener, QueueLimits};
use firesteel_host::owner::{self, Context};
use firesteel_host::signals::EndRequests;
use firesteel_settings::SettingError;

pub use attempt::{Attempt, NoAttempt};
pub use firesteel_application_master::FinalStatus;

#[derive(Debug, thiserror::Error)]
pub enum ApplicationMasterError {
    #[error(transparent)]
    Blueprint(#[from] BlueprintError),
    #[error(transparent)]
    Attempt(#[from] NoAttempt),
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The ApplicationMaster cannot listen on its address.
    #[error("cannot listen for drivers: {0}")]
    Listen(#[from] ListenError),
    /// The ApplicationMaster cannot catch signals.
    #[error("cannot catch signals: {0}")]
    Signals(#[source] io::Error),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The final status of the application, or of this attempt.
    pub status: FinalStatus,
    pub code: i32,
    /// The reason, as text for users.
    pub message: String,
}

/// Runs the ApplicationMaster of the container that this process is in.
///
/// # Errors
/// The ApplicationMaster could not start.
pub async fn run_in_container(blueprint: &Path) -> Result<Ended, ApplicationMasterError> {
    let blueprint = Blueprint::read(blueprint)?;
    let attempt = Attempt::of_container()?;
    daemon::raise_open_files();
    let requests = EndRequests::install().map_err(ApplicationMasterError::Signals)?;
    run(blueprint, attempt, requests).await
}

/// Runs an ApplicationMaster until its application, or this attempt at it, is over.
///
/// The ApplicationMaster registers with the ResourceManager. The registration contains the address at which it listens
/// for drivers.
///
/// # Errors
/// The ApplicationMaster could not start.
pub fn run(
    blueprint: Blueprint,
    attempt: Attempt,
    requests: EndRequests,
) -> Pin<Box<dyn Future<Output = Result<Ended, ApplicationMasterError>> + Send>> {
    // Boxed, so that this crate compiles the future, and not its caller's crate.
    Box::pin(serve(blueprint, attempt, requests))
}

async fn serve(
    blueprint: Blueprint,
    attempt: Attempt,
    mut requests: EndRequests,
) -> Result<Ended, ApplicationMasterError> {
    let settings = settings::of(&blueprint)?;
    let listener = Listener::bind(&Address::new(attempt.host.clone(), 0)).await?;
    let reached = daemon::reachable(&attempt.host, listener.local().port());
    let config = settings::config(&settings, &blueprint, &attempt, &reached);
    let launches = settings.launches;

    let mut context =
        Context::new(Role::Master, &reached.to_string(), QueueLimits::default(), Clock::start());
    context.peers.serve(
        listener,
        vec![
            AcceptedRole { role: Role::Driver, decode: from_driver },
            AcceptedRole { role: Role::Client, decode: from_client },
        ],
    );
    tracing::info!("{} listens on {}", attempt.id, reached.url());
    let retry = |millis| Retry { within: Duration::from_millis(millis), ..Retry::default() };
    let client = AmRmClient::new(
        blueprint.hadoop.schedulers.clone(),
        attempt.token.clone(),
        retry(blueprint.hadoop.resource_manager_patience),
    );
    let manager = Manager::start(client, &reached, &blueprint, settings.node_label, context.inbox());
    let nodes = NmClient::new(retry(blueprint.hadoop.node_manager_patience));
    let launching = Arc::new(Launching::of(&blueprint, &attempt));
    let launches = Launches::new(nodes, launching, launches);
    let program = match &blueprint.deploy {
        Deploy::Cluster(program) => Some(program.clone()),
        Deploy::Client | Deploy::Unmanaged => None,
    };
    let programs = Programs::new(program, &reached, &blueprint.user);

    context.raise(Event::Start);
    let shell = ApplicationMasterShell::new(manager, launches, programs.clone());
    let exit = owner::run(ApplicationMaster::new(config), shell, context, &mut requests).await;
    programs.end().await;
    let Exit { status, code, message, staging } = exit;
    match (staging, blueprint.staging) {
        (Staging::Unneeded, Some(directory)) => {
            let staged = staging::Staging::at(directory);
            spawn_blocking(move || staged.delete()).await.expect("deleting does not panic");
        }
        (Staging::Unneeded, None) | (Staging::Needed, _) => {}
    }
    Ok(Ended { status, code, message })
}

fn from_driver(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Driver(wire::decode(body)?) })
}

fn from_client(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Client(wire::decode(body)?) })
}
