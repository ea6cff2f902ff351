//! `firesteel yarn logs`: prints the logs of containers.

use std::io::{self, Write as _};

use clap::Args as ClapArgs;
use firesteel_host::standard;
use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::Stream;
use firesteel_yarn::messages::application::ApplicationReport;
use firesteel_yarn::messages::records::{ApplicationId, ContainerId};
use firesteel_yarn_mode::container_logs::{LogError, LogLocation};
use firesteel_yarn_mode::monitor::master;
use firesteel_yarn_mode::site::Site;
use firesteel_yarn_mode::states::{is_over, state};

use super::{ClusterArgs, ask, codes, report};
use crate::cli::client::ask::{self as running, Cluster};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::logs::{Author, json_line};

const EXAMPLES: &str = "  firesteel yarn logs application_1700000000123_0007
  firesteel yarn logs application_1700000000123_0007 3 --stderr
  firesteel yarn logs application_1700000000123_0007 container_1700000000123_0007_01_000001";

/// The options of `firesteel yarn logs`: which logs are shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn logs", EXAMPLES), after_long_help = codes(EXAMPLES))]
pub(super) struct Logs {
    /// Id of the application
    #[arg(value_name = "APP")]
    app: ApplicationId,
    /// Number of an executor or id of a container [default: all that run]
    #[arg(value_name = "EXECUTOR|CONTAINER", value_parser = container_arg)]
    which: Option<ContainerArg>,
    /// Show standard error instead of standard output
    #[arg(long)]
    stderr: bool,
    /// Print each line as a JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: ClusterArgs,
}

/// One container of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ContainerArg {
    Executor(ExecutorId),
    Container(ContainerId),
}

fn container_arg(word: &str) -> Result<ContainerArg, String> {
    match word.parse() {
        Ok(number) => Ok(ContainerArg::Executor(ExecutorId(number))),
        Err(_) => word
            .parse()
            .map(ContainerArg::Container)
            .map_err(|error| format!("{error}; write the number of an executor or the id of a container")),
    }
}

pub(super) fn run(args: &Logs) -> Result<Exit, Failure> {
    let site = args.site.site()?;
    let report = report(&site, args.app)?;
    let now = report.yarn_application_state();
    if is_over(now) {
        return Err(Failure::of(Exit::Failure, over(args.app, state(now))));
    }
    let locations = match &args.which {
        Some(ContainerArg::Executor(executor)) => vec![of_executor(&report, *executor)?],
        Some(ContainerArg::Container(container)) => {
            let container = container.to_string();
            let mut all = containers(&site, &report)?;
            all.retain(|location| location.container == container);
            all
        }
        None => containers(&site, &report)?,
    };
    if locations.is_empty() {
        let words = match &args.which {
            Some(_) => format!("{} has no such container, or it has ended", args.app),
            None => format!("{} is {} and has no container yet", args.app, state(now)),
        };
        return Err(Failure::of(Exit::Failure, words));
    }
    let stream = if args.stderr { Stream::Stderr } else { Stream::Stdout };
    print(&locations, stream, args.json)
}

/// The error for logs that the NodeManagers no longer serve, with advice.
fn over(app: ApplicationId, how: &str) -> String {
    format!(
        "{app} is {how}, and NodeManagers show the logs of running applications alone: where the cluster collects logs \
         (yarn.log-aggregation-enable), yarn logs -applicationId {app} shows them; otherwise they are in {app}/ in \
         yarn.nodemanager.log-dirs of the nodes, for yarn.nodemanager.log.retain-seconds"
    )
}

/// The containers of the running attempt.
fn containers(site: &Site, report: &ApplicationReport) -> Result<Vec<LogLocation>, Failure> {
    let Some(attempt) = report.current_application_attempt_id else { return Ok(Vec::new()) };
    let found = ask(site, |client| async move { client.containers(attempt).await })?;
    let mut locations: Vec<LogLocation> = found.iter().filter_map(LogLocation::of).collect();
    locations.sort_by(|one, other| one.container.cmp(&other.container));
    Ok(locations)
}

/// The container of an executor, according to the ApplicationMaster.
fn of_executor(report: &ApplicationReport, executor: ExecutorId) -> Result<LogLocation, Failure> {
    let app = report.application_id.unwrap_or_default();
    let fail = |words: String| Failure::of(Exit::Failure, words);
    let Some(master) = master(report) else {
        let now = state(report.yarn_application_state());
        return Err(fail(format!("{app} is {now} and has no known executors: give the id of a container")));
    };
    let detail = running::detail(&Cluster::of(vec![master], None, "yarn logs"), &app.to_string())?;
    let found = detail.application.executors.iter().find(|found| found.id == executor);
    found
        .and_then(|found| LogLocation::of_link(&found.directory))
        .ok_or_else(|| fail(format!("{app} has no executor {executor}, or it has ended")))
}

/// Prints logs. If there are several logs, the name of the container precedes each of them. In JSON, each line contains
/// the name.
fn print(locations: &[LogLocation], stream: Stream, is_json: bool) -> Result<Exit, Failure> {
    let mut stdout = standard::stdout().lock();
    let mut failed = Vec::new();
    for (at, location) in locations.iter().enumerate() {
        if locations.len() > 1 && !is_json {
            let gap = if at > 0 { "\n" } else { "" };
            if let Err(error) = writeln!(stdout, "{gap}==> {} <==", location.container) {
                return exit::written(Err(error));
            }
        }
        let copied = if is_json {
            let mut lines =
                JsonLines { out: &mut stdout, container: &location.container, stream, begun: Vec::new() };
            location.copy(stream, &mut lines).and_then(|()| {
                lines.end().map_err(|error| LogError::Io { container: location.container.clone(), error })
            })
        } else {
            location.copy(stream, &mut stdout)
        };
        match copied {
            Ok(()) => {}
            Err(LogError::Io { error, .. }) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(Exit::Done);
            }
            Err(error) => failed.push(error),
        }
    }
    match failed.as_slice() {
        [] => exit::written(stdout.flush()),
        [first, ..] => Err(Failure::with(Exit::Failure, first)),
    }
}

/// Writes each line of a log as a JSON value.
struct JsonLines<'a, W> {
    out: &'a mut W,
    container: &'a str,
    stream: Stream,
    /// The beginning of an unfinished line.
    begun: Vec<u8>,
}

impl<W: io::Write> JsonLines<'_, W> {
    /// Writes the unfinished last line, which has no line feed.
    fn end(mut self) -> io::Result<()> {
        match std::mem::take(&mut self.begun) {
            rest if rest.is_empty() => Ok(()),
            rest => self.line(rest),
        }
    }

    fn line(&mut self, line: Vec<u8>) -> io::Result<()> {
        let author = Author::Container { container: self.container };
        self.out.write_all(json_line(author, self.stream, line).as_bytes())
    }
}

impl<W: io::Write> io::Write for JsonLines<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let rest = self.begun.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.begun, rest);
            line.pop();
            self.line(line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_log_is_a_json_value_wherever_its_pieces_end() {
        let mut out = Vec::new();
        let mut lines =
            JsonLines { out: &mut out, container: "c", stream: Stream::Stderr, begun: Vec::new() };
        for piece in ["a\nb", "", "c\n\n", "end"] {
            lines.write_all(piece.as_bytes()).expect("it is memory");
        }
        lines.end().expect("it is memory");
        let line = |line: &str| {
            format!("{{\"schema\":1,\"container\":\"c\",\"stream\":\"stderr\",\"line\":\"{line}\"}}\n")
        };
        assert_eq!(String::from_utf8_lossy(&out), ["a", "bc", "", "end"].map(line).concat());
    }

    #[test]
    fn a_number_is_an_executor_and_an_id_a_container() {
        assert_eq!(container_arg("3"), Ok(ContainerArg::Executor(ExecutorId(3))));
        let container = "container_1700000000123_0007_01_000001";
        assert_eq!(
            container_arg(container),
            Ok(ContainerArg::Container(container.parse().expect("it is one")))
        );
        let error = container_arg("x").expect_err("it is neither");
        assert_eq!(
            error,
            "`x` is not a valid container id, such as container_1700000000123_0007_01_000002; write the number of an executor or the id of a container"
        );
    }
}
