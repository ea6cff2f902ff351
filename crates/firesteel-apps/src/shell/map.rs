//! `map` in a session. Its tasks are the latest tasks of the driver, and the session passes their
//! reports to the map run.

use firesteel_core::driver::{ExecutorView, ExecutorViewState};
use firesteel_core::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_core::map::Scope;
use firesteel_placement::Cores;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::end::End;
use super::reports::Step;
use super::request::{Items, Map};
use super::session::{Served, Session};
use crate::map::input::{Input, Source};
use crate::map::items::{Cut, Separator, Unit};
use crate::map::outlet::Outlet;
use crate::map::preference::Preference;
use crate::map::run::Run;
use crate::map::spool::SpoolLimits;
use crate::map::template::Template;
use crate::map::{Ending, exit_code};
use firesteel_host::signals::{EndRequest, EndRequests};

/// Maximum number of reports that wait for the map run.
const REPORTS: usize = 1024;

impl Session {
    pub(super) async fn run_map(&mut self, map: Map) -> Served {
        let Map { profile, cores, command, items, order } = map;
        let Some(needs) = self.needs(profile, cores) else { return self.no_such_profile(profile) };
        let (source, separator) = match items {
            Items::Words(words) => (Source::Words(words), Separator::Newline),
            Items::File(path, separator) => (Source::File(path), separator),
        };
        let cut = Cut { separator, unit: Unit::Record };
        // Opening a named pipe waits for a writer.
        let mut opening = spawn_blocking(move || Input::open(source, cut, Preference::None, None));
        let input = loop {
            tokio::select! {
                input = &mut opening => break input.expect("opening an input does not panic"),
                step = self.step(None) => if step? == Step::Interrupted {
                    return self.interrupted();
                },
            }
        };
        let input = match input {
            Ok(input) => input,
            Err(error) => return self.complain(2, error),
        };
        let first = self.next;
        // From here on the run hears of executors, so it misses none between the driver's tables
        // and its reports. It counts each executor once, even if it hears of it several times.
        let (sender, reports) = mpsc::channel(REPORTS);
        self.map = Some((first, sender));
        let view = self.view().await?;
        let executors = view.executors.iter().filter_map(|executor| here(executor, profile)).collect();
        let scope = Scope::Tasks { first, executors };
        let (command, directory) = (self.command(command), self.defaults.directory.clone());
        let template = Template::new(command, directory, needs);
        let progress = self.progress.again();
        let sinks = self.console.sinks();
        let outlet =
            Outlet::start(first, order, SpoolLimits::default(), sinks, progress.clone(), self.driver.clone());
        let outlet = match outlet {
            Ok(outlet) => outlet,
            Err(error) => {
                self.map = None;
                return self.complain(1, error);
            }
        };
        let (end, requests) = mpsc::channel(1);
        let driver = (self.driver.clone(), reports);
        let requests = EndRequests::passed_on(requests);
        let run = Run::new((input, template), driver, outlet, progress.clone(), scope, requests);
        let mut work = tokio::spawn(run.finish());
        let mut interrupts = 0;
        let done = loop {
            let ended = tokio::select! {
                done = &mut work => Some(done),
                step = self.step(None) => {
                    if step? == Step::Interrupted {
                        interrupts += 1;
                        match (interrupts, &self.map) {
                            (1, Some(_)) => drop(end.send(EndRequest::Interrupt).await),
                            // After an interrupt, the outputs of ended items are not printed.
                            _ if self.is_interactive => self.console.mute(),
                            _ => return Err(End::Asked(EndRequest::Interrupt)),
                        }
                    }
                    None
                }
            };
            if let Some(done) = ended {
                break done;
            }
        };
        self.map = None;
        self.console.unmute();
        if interrupts > 0 {
            self.console.interrupted();
        }
        let (ending, summary) = done.expect("a map does not panic");
        self.next = TaskId(first.0 + summary.items);
        let code = exit_code(&ending, &summary);
        self.console.end_line();
        if !self.progress.is_quiet() || summary.failed > 0 {
            self.console.say(format_args!("firesteel: {summary}"));
        }
        if matches!(ending, Ending::ReaderGone) {
            return Err(End::ReaderGone);
        }
        if code != 0 && !self.place.is_empty() {
            self.complain(code, format_args!("map: exit code {code}"))?;
        }
        self.stop_script_after_interrupt(code)
    }
}

/// The number, host and cores of a registered executor of this profile that was not asked to end.
fn here(executor: &ExecutorView, profile: ProfileId) -> Option<(ExecutorId, String, Cores)> {
    let is_here = match executor.state {
        ExecutorViewState::Offering | ExecutorViewState::Excluded => true,
        ExecutorViewState::Announced | ExecutorViewState::Leaving | ExecutorViewState::Silent => false,
    };
    (is_here && executor.profile == profile).then(|| (executor.id, executor.host.clone(), executor.cores))
}
