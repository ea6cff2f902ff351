//! The map run of a session: the run in progress, or a run whose items were opened.

use firesteel_engine::map::Scope;
use firesteel_engine::session::{Items, MapEnd, MapStart, Reader};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::map::input::{Input, InputError, Source};
use crate::map::items::{Cut, Separator, Unit};
use crate::map::outlet::{Outlet, OutletError};
use crate::map::preference::Preference;
use crate::map::printer::Sinks;
use crate::map::run::Run;
use crate::map::run_record::RecordUse;
use crate::map::spool::SpoolLimits;
use crate::map::summary::Summary;
use crate::map::template::Template;
use crate::map::{Ending, exit_code};
use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};

/// Maximum number of reports that wait for the map run.
const REPORTS: usize = 1024;

/// Opens the items of a map run. Opening a named pipe waits for a writer.
pub(super) async fn open(items: Items) -> Result<Input, InputError> {
    let (source, separator) = match items {
        Items::Words(words) => (Source::Words(words), Separator::Newline),
        Items::File(path, separator) => (Source::File(path), separator),
    };
    let cut = Cut { separator, unit: Unit::Record };
    let opening = spawn_blocking(move || Input::open(source, cut, Preference::None, RecordUse::Nothing));
    opening.await.expect("opening an input does not panic")
}

/// The map run of a session.
#[derive(Default)]
pub(super) enum MapRun {
    /// There is no map run.
    #[default]
    None,
    /// The items of the run are open. The driver's reports wait for the run to begin.
    Opened { input: Box<Input>, sender: mpsc::Sender<Report>, reports: mpsc::Receiver<Report> },
    /// The map run is in progress.
    Running {
        sender: mpsc::Sender<Report>,
        interrupts: mpsc::Sender<EndRequest>,
        work: JoinHandle<(Ending, Summary)>,
    },
}

impl MapRun {
    /// A run that has not begun. From now on, it receives the driver's reports.
    pub(super) fn opened(input: Input) -> Self {
        let (sender, reports) = mpsc::channel(REPORTS);
        Self::Opened { input: Box::new(input), sender, reports }
    }

    /// Begins the run whose items were opened.
    pub(super) fn start(
        self,
        start: MapStart,
        driver: Handle,
        sinks: Sinks,
        progress: Progress,
    ) -> Result<Self, OutletError> {
        let Self::Opened { input, sender, reports } = self else { return Ok(self) };
        let MapStart { first, executors, needs, command, directory, order } = start;
        let limits = SpoolLimits::default();
        let outlet = Outlet::start(first, order, limits, sinks, progress.clone(), driver.clone())?;
        let (interrupts, requests) = mpsc::channel(1);
        let work = (*input, Template::new(command, directory, needs));
        let (driver, scope) = ((driver, reports), Scope::Tasks { first, executors });
        let run = Run::new(work, driver, outlet, progress, scope, EndRequests::passed_on(requests));
        Ok(Self::Running { sender, interrupts, work: tokio::spawn(run.finish()) })
    }

    /// Passes a report of the driver to the run.
    pub(super) async fn tell(&self, report: Report) {
        match self {
            Self::None => {}
            Self::Opened { sender, .. } | Self::Running { sender, .. } => {
                // Sending fails only if the run has ended, and it ends after the last of its tasks.
                let _ = sender.send(report).await;
            }
        }
    }

    /// Passes a ctrl-c on to the run.
    pub(super) async fn interrupt(&self) {
        match self {
            Self::None | Self::Opened { .. } => {}
            Self::Running { interrupts, .. } => drop(interrupts.send(EndRequest::Interrupt).await),
        }
    }

    /// Waits for the end of the run. If no run is in progress, waits forever.
    pub(super) async fn ended(&mut self) -> (MapEnd, Summary) {
        let Self::Running { work, .. } = self else { return std::future::pending().await };
        let (ending, summary) = work.await.expect("a map does not panic");
        let code = exit_code(&ending, &summary);
        let reader = if ending == Ending::ReaderGone { Reader::Gone } else { Reader::Reads };
        (MapEnd { items: summary.items, failed: summary.failed, code, reader }, summary)
    }
}
