//! Requests are served.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_core::driver::{ExecutorView, ExecutorViewState, Replacement, TaskRequest, View};
use firesteel_core::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_core::messages::{ResourceProfile, TaskDirectory, TaskSpec};
use firesteel_core::process::Command;
use firesteel_placement::Cores;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::answers::{self, are, counted, shortened};
use super::commands;
use super::keeper::Record;
use super::request::{Assignment, Items, Map, Request, Run, Surplus, Which};
use super::session::{End, Served, Session, Step, TICK};
use super::tasks::{Task, ending};
use super::words::Place;
use crate::driver_daemon::Report;
use crate::map::input::{Input, Source};
use crate::map::items::{Cut, Separator, Unit};
use crate::map::outlet::Outlet;
use crate::map::preference::Preference;
use crate::map::run::{Ending, Run as MapRun, Stake};
use crate::map::spool::Limits;
use crate::map::template::Template;
use crate::signals::EndRequest;

/// How long the Master's answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);
/// How long executors are waited for that were asked for, or to end.
const COME: Duration = Duration::from_secs(2);
const GO: Duration = Duration::from_secs(15);
/// Files that may be read within each other.
const DEPTH: usize = 16;

impl Session {
    /// Serves one request; its exit code.
    pub(super) async fn serve(&mut self, request: Request) -> Served {
        match request {
            Request::Run(run) => self.run_command(run).await,
            Request::Map(map) => self.run_map(map).await,
            Request::Executors => self.show(answers::executors).await,
            Request::Tasks(which) => {
                let view = self.view().await?;
                self.console.print(&answers::tasks(&self.tasks, &view, which == Which::All));
                Ok(0)
            }
            Request::Watch(task) => self.watch(task).await,
            Request::Wait(tasks) => self.wait_for_tasks(tasks).await,
            Request::WaitForExecutors { count, limit } => self.wait_for_executors(count, limit).await,
            Request::Cancel(tasks) => self.cancel(tasks).await,
            Request::Executor { total, profile, surplus } => self.request(total, profile, surplus).await,
            Request::Kill { executors, replacement } => self.kill(executors, replacement).await,
            Request::Why => self.why().await,
            Request::AddProfile { needs, total } => self.add_profile(needs, total).await,
            Request::ListProfiles => {
                let view = self.view().await?;
                self.console.print(&answers::profiles(&view, &self.profiles));
                Ok(0)
            }
            Request::Status => self.show(answers::status).await,
            Request::ShowDefaults => {
                self.console.print(&answers::defaults(&self.defaults));
                Ok(0)
            }
            Request::Set(assignment) => {
                self.set(assignment);
                Ok(0)
            }
            Request::Settings => {
                self.console.print(&answers::settings(&self.properties));
                Ok(0)
            }
            Request::History(last) => {
                let skipped = self.history.len().saturating_sub(last.unwrap_or(usize::MAX));
                let lines = self.history.iter().skip(skipped).map(|line| format!("{line}\n"));
                self.console.print(&lines.collect::<String>());
                Ok(0)
            }
            Request::Source(path) => self.source(&path).await,
            Request::Help(command) => {
                let text = command.map_or_else(commands::overview, commands::help);
                self.console.print(&text);
                Ok(0)
            }
            Request::Quit(code) => self.leave(code).await.map(|()| 0),
        }
    }

    /// The driver's tables; without a driver, its last word is waited for.
    async fn view(&mut self) -> Result<View, End> {
        match self.driver.view().await {
            Ok(view) => Ok(view),
            Err(_) => loop {
                self.step(None).await?;
            },
        }
    }

    async fn show(&mut self, answer: impl Fn(&View) -> String) -> Served {
        let view = self.view().await?;
        self.console.print(&answer(&view));
        Ok(0)
    }

    async fn run_command(&mut self, run: Run) -> Served {
        let Run { cores, retries, command, place } = run;
        let id = self.next;
        self.next.0 += 1;
        let record = (place == Place::Background).then(|| self.keeper.record(id));
        let (shown, submitted) = (shortened(&command), std::time::Instant::now());
        self.tasks.add(id, Task { command: shown, place, submitted, record, end: None });
        let spec = TaskSpec {
            command: self.command(command),
            directory: self.defaults.directory.clone(),
            stdin: bytes::Bytes::new(),
            cores: cores.unwrap_or(self.defaults.cores),
        };
        let request = TaskRequest { max_failures: Some(retries.saturating_add(1)), ..spec.into() };
        // Refused only when the application is over, and then its end is on the way.
        let _ = self.driver.submit(id, request).await;
        match place {
            Place::Foreground => self.attend(id).await,
            Place::Background => {
                if !self.progress.is_quiet() {
                    self.console.say(format_args!("task {id} runs in the background"));
                }
                Ok(0)
            }
        }
    }

    fn command(&self, mut words: Vec<String>) -> Command {
        let program = words.remove(0);
        Command { program, arguments: words, environment: self.defaults.environment.clone() }
    }

    /// Waits for the task in hand; ctrl-c ends it.
    async fn attend(&mut self, id: TaskId) -> Served {
        self.in_hand = Some(id);
        let code = loop {
            if let Some(code) = self.code_of(id) {
                break code;
            }
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                self.console.interrupted();
                let _ = self.driver.cancel_task(id).await;
            }
        };
        self.in_hand = None;
        self.settle().await?;
        let Some((task, (outcome, _))) = self.tasks.get(id).and_then(|task| Some((task, task.end.as_ref()?)))
        else {
            return Ok(code);
        };
        match code {
            0 => Ok(0),
            code => {
                let words = format!("task {id} ({}) {}", task.command, ending(outcome));
                let code = self.complain(code, words)?;
                self.stop_script_after_interrupt(code)
            }
        }
    }

    /// A ctrl-c ends a script, whatever it does with failures.
    fn stop_script_after_interrupt(&self, code: u8) -> Served {
        match (self.is_interactive, code) {
            (false, 130) if self.was_interrupted => Err(End::Asked(EndRequest::Interrupt)),
            _ => Ok(code),
        }
    }

    /// Waits until what is to be printed is printed; ctrl-c gives that up.
    async fn settle(&mut self) -> Result<(), End> {
        loop {
            let console = self.console.settled_later();
            tokio::select! {
                () = console => {
                    self.console.unmute();
                    return Ok(());
                }
                step = self.step(None) => if step? == Step::Interrupted {
                    self.console.mute();
                },
            }
        }
    }

    async fn run_map(&mut self, map: Map) -> Served {
        let Map { cores, command, items, order } = map;
        let (source, separator) = match items {
            Items::Words(words) => (Source::Words(words), Separator::Newline),
            Items::File(path, separator) => (Source::File(path), separator),
        };
        let cut = Cut { separator, unit: Unit::Record };
        // A named pipe is open only when somebody writes to it.
        let mut opening = spawn_blocking(move || Input::open(source, cut, Preference::None));
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
        let view = self.view().await?;
        let ready = |executor: &ExecutorView| {
            (executor.state == ExecutorViewState::Offering)
                .then(|| (executor.id, executor.host.clone(), executor.cores))
        };
        let first = self.next;
        let stake = Stake::Tasks { first, executors: view.executors.iter().filter_map(ready).collect() };
        let cores = cores.unwrap_or(self.defaults.cores);
        let template = Template::new(self.command(command), self.defaults.directory.clone(), cores);
        let progress = self.progress.again();
        let sinks = self.console.sinks();
        let outlet =
            Outlet::start(first, order, Limits::default(), sinks, progress.clone(), self.driver.clone());
        let outlet = match outlet {
            Ok(outlet) => outlet,
            Err(error) => return self.complain(1, error),
        };
        let run = MapRun::new(input, template, self.driver.clone(), outlet, progress.clone(), stake);
        let (sender, reports) = mpsc::unbounded_channel();
        self.map = Some((first, sender));
        let mut work = tokio::spawn(run.finish(reports));
        let mut interrupts = 0;
        let done = loop {
            let ended = tokio::select! {
                done = &mut work => Some(done),
                step = self.step(None) => {
                    if step? == Step::Interrupted {
                        interrupts += 1;
                        match (interrupts, &self.map) {
                            (1, Some((_, map))) => {
                                let _ = map.send(Report::AskedToEnd(EndRequest::Interrupt));
                            }
                            // What has ended is not printed any more.
                            _ => self.console.mute(),
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
        let code = ending.exit_code(&summary);
        self.console.end_line();
        match (self.progress.is_quiet(), summary.failed) {
            (false, _) => self.progress.remark(&summary),
            (true, 1..) => self.progress.error(&summary),
            (true, 0) => {}
        }
        if matches!(ending, Ending::ReaderGone) {
            return Err(End::ReaderGone);
        }
        if code != 0 && !self.place.is_empty() {
            self.complain(code, format_args!("map: exit code {code}"))?;
        }
        self.stop_script_after_interrupt(code)
    }

    async fn watch(&mut self, task: Option<TaskId>) -> Served {
        let Some(id) = task.or_else(|| self.tasks.last_in_background()) else {
            return self
                .complain(1, "there is no task in the background: & at the end of run puts one there");
        };
        let Some(task) = self.tasks.get(id) else {
            return self.complain(1, format_args!("there is no task {id}: tasks lists them"));
        };
        let Some(record) = task.record.clone() else {
            return self
                .complain(1, format_args!("task {id} was no task in the background: nothing of it is kept"));
        };
        self.in_hand = Some(id);
        let code = self.follow(id, &record).await;
        self.in_hand = None;
        self.console.unmute();
        if let Some(error) = record.error() {
            return self.complain(1, error);
        }
        let Some(code) = code? else { return self.interrupted() };
        if code != 0
            && let Some((outcome, _)) = self.tasks.get(id).and_then(|task| task.end.as_ref())
        {
            let words = format!("task {id} {}", ending(outcome));
            return self.complain(code, words);
        }
        Ok(code)
    }

    /// Shows a record until its task has ended; nothing after a ctrl-c.
    async fn follow(&mut self, id: TaskId, record: &Record) -> Result<Option<u8>, End> {
        let (mut at, mut round) = (0, record.rounds());
        loop {
            let code = self.code_of(id);
            if code.is_some() {
                // Nothing is added any more, once what came is written.
                self.keeper.settled().await;
            }
            if record.rounds() != round {
                (at, round) = (0, record.rounds());
            }
            loop {
                let bytes = match record.read(at) {
                    Ok(bytes) if bytes.is_empty() => break,
                    Ok(bytes) => bytes,
                    Err(error) => {
                        return self
                            .complain(1, format_args!("the output cannot be read: {error}"))
                            .map(Some);
                    }
                };
                at += bytes.len() as u64;
                self.console.replay(bytes);
                self.settle().await?;
            }
            if code.is_some() {
                return Ok(code);
            }
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                return Ok(None);
            }
        }
    }

    pub(super) async fn wait_for_tasks(&mut self, tasks: Vec<TaskId>) -> Served {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        if let Some(id) = tasks.iter().find(|id| self.tasks.get(**id).is_none()) {
            return self.complain(1, format_args!("there is no task {id}: tasks lists them"));
        }
        let mut last = 0;
        for id in tasks {
            let code = loop {
                match (self.code_of(id), self.tasks.get(id)) {
                    (Some(code), _) => break code,
                    (None, None) => break 0,
                    (None, Some(_)) => {}
                }
                if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                    return self.interrupted();
                }
            };
            if code != 0 {
                last = code;
                let outcome = self.tasks.get(id).and_then(|task| task.end.as_ref());
                let words = outcome.map(|(outcome, _)| ending(outcome)).unwrap_or_default();
                if !self.is_interactive {
                    self.complain(code, format_args!("task {id} {words}"))?;
                }
            }
        }
        Ok(last)
    }

    async fn wait_for_executors(&mut self, count: usize, limit: Duration) -> Served {
        let until = Instant::now() + limit;
        loop {
            let ready = self.ready().await;
            if ready >= count {
                return Ok(0);
            }
            let now = Instant::now();
            if now >= until {
                let words = format!(
                    "{ready} of {} ready after {}",
                    are(count as u64, "executor"),
                    counted(limit.as_secs(), "second")
                );
                let code = self.complain(1, words)?;
                self.why().await?;
                return Ok(code);
            }
            if self.step(Some(until.min(now + TICK))).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
    }

    async fn cancel(&mut self, tasks: Vec<TaskId>) -> Served {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        for id in &tasks {
            match self.tasks.get(*id) {
                None => return self.complain(1, format_args!("there is no task {id}: tasks lists them")),
                Some(task) if task.end.is_some() => {
                    return self.complain(1, format_args!("task {id} has ended"));
                }
                Some(_) => {}
            }
        }
        for id in tasks {
            let _ = self.driver.cancel_task(id).await;
        }
        Ok(0)
    }

    async fn request(&mut self, total: u64, profile: ProfileId, surplus: Surplus) -> Served {
        let view = self.view().await?;
        if !view.targets.iter().any(|(known, _)| *known == profile) {
            return self.complain(1, format_args!("there is no profile {profile}: profile list lists them"));
        }
        let _ = self.driver.request_executors(profile, total).await;
        let of = |view: &View| {
            let mine = |executor: &&ExecutorView| executor.profile == profile;
            view.executors.iter().filter(mine).cloned().collect::<Vec<_>>()
        };
        let mut here = of(&view);
        let wanted = usize::try_from(total).unwrap_or(usize::MAX);
        if here.len() > wanted && surplus == Surplus::Ends {
            // Idle ones first, and of these the youngest.
            here.sort_by_key(|executor| (executor.running.len(), std::cmp::Reverse(executor.id)));
            let surplus = here[..here.len() - wanted].iter().map(|executor| executor.id).collect();
            // So many are wanted already: no others come in their place.
            return self.end_executors(surplus, Replacement::Wanted).await;
        }
        let until = Instant::now() + COME;
        while of(&self.view().await?).len() < wanted && Instant::now() < until {
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
        let here = of(&self.view().await?).len();
        if here > wanted {
            let stay = here - wanted;
            let words = format!(
                "{} wanted in all, and {here} are here: {stay} more than that, until killed (request {total} --kill)\n",
                are(total, "executor")
            );
            self.console.print(&words);
        } else {
            self.console.print(&format!(
                "{} wanted in all, and {here} {} here\n",
                are(total, "executor"),
                if here == 1 { "is" } else { "are" }
            ));
            if here < wanted {
                return self.why().await;
            }
        }
        Ok(0)
    }

    async fn kill(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) -> Served {
        let view = self.view().await?;
        let unknown = executors.iter().find(|id| !view.executors.iter().any(|executor| executor.id == **id));
        if let Some(id) = unknown {
            return self.complain(1, format_args!("there is no executor {id}: executors lists them"));
        }
        self.end_executors(executors, replacement).await
    }

    /// Ends executors, and waits until they have.
    async fn end_executors(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) -> Served {
        let _ = self.driver.kill_executors(executors.clone(), replacement).await;
        let until = Instant::now() + GO;
        loop {
            let view = self.view().await?;
            let left = view.executors.iter().filter(|executor| executors.contains(&executor.id)).count();
            if left == 0 {
                break;
            }
            let now = Instant::now();
            if now >= until {
                let words = format!("{} not ended after {} s", are(left as u64, "executor"), GO.as_secs());
                return self.complain(1, words);
            }
            if self.step(Some(now + TICK)).await? == Step::Interrupted {
                return self.interrupted();
            }
        }
        let numbers: Vec<String> = executors.iter().map(ToString::to_string).collect();
        let (noun, verb) = if numbers.len() == 1 { ("executor", "has") } else { ("executors", "have") };
        self.console.print(&format!("{noun} {} {verb} ended\n", numbers.join(", ")));
        Ok(0)
    }

    async fn why(&mut self) -> Served {
        let driver = self.driver.clone();
        let mut asking = Box::pin(timeout(ANSWER, async move { driver.explain().await }));
        let answer = loop {
            tokio::select! {
                answer = &mut asking => break answer,
                step = self.step(None) => if step? == Step::Interrupted {
                    return self.interrupted();
                },
            }
        };
        let view = self.view().await?;
        match answer {
            Ok(Ok(Some(shortfalls))) => {
                self.console.print(&answers::why(&shortfalls, &view));
                Ok(0)
            }
            Ok(Ok(None) | Err(_)) => {
                let words = "no Master is connected, and only it knows why: it is dialled again";
                self.complain(1, words)
            }
            Err(_) => {
                self.complain(1, format_args!("the Master has not answered for {} s", ANSWER.as_secs()))
            }
        }
    }

    async fn add_profile(&mut self, needs: ResourceProfile, total: u64) -> Served {
        let view = self.view().await?;
        let last = view.targets.iter().map(|(profile, _)| profile.0).max().unwrap_or(0);
        let profile = ProfileId(last.saturating_add(1));
        let _ = self.driver.add_profile(profile, needs.clone(), total).await;
        self.console.print(&format!(
            "profile {profile}: {} wanted, each with {}\n",
            are(total, "executor"),
            answers::words(&needs)
        ));
        self.profiles.push((profile, needs));
        Ok(0)
    }

    fn set(&mut self, assignment: Assignment) {
        match assignment {
            Assignment::Cores(Cores(cores)) => self.defaults.cores = Cores(cores),
            Assignment::Directory(path) if path == "executor" => {
                self.defaults.directory = TaskDirectory::Executor;
            }
            Assignment::Directory(path) => {
                let path = match &self.defaults.directory {
                    TaskDirectory::Path(current) if !path.starts_with('/') => {
                        format!("{}/{path}", current.trim_end_matches('/'))
                    }
                    TaskDirectory::Path(_) | TaskDirectory::Executor => path,
                };
                self.defaults.directory = TaskDirectory::Path(path);
            }
            Assignment::Variable(name, value) => {
                let environment: &mut BTreeMap<String, String> = &mut self.defaults.environment;
                match value {
                    Some(value) => drop(environment.insert(name, value)),
                    None => drop(environment.remove(&name)),
                }
            }
        }
    }

    async fn source(&mut self, path: &std::path::Path) -> Served {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.complain(1, format_args!("cannot read {}: {error}", path.display())),
        };
        if self.depth >= DEPTH {
            return self.complain(1, format_args!("{} is read within itself", path.display()));
        }
        let outer = std::mem::take(&mut self.place);
        self.depth += 1;
        let on_failure = self.on_failure;
        let mut code = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}, line {number}: ", path.display());
            if let Some(failed) = self.serve_line(place, line, on_failure).await? {
                code = failed;
                break;
            }
        }
        self.depth -= 1;
        self.place = outer;
        Ok(code)
    }

    /// ctrl-c while something was waited for.
    fn interrupted(&mut self) -> Served {
        self.console.interrupted();
        self.console.end_line();
        self.stop_script_after_interrupt(130)
    }
}
