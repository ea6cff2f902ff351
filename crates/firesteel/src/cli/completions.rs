//! `firesteel completions`, and the answers to a shell when the user presses tab. Answers include
//! the ids of running applications.

use std::ffi::OsStr;
use std::io::Write;
use std::time::Duration;

use clap::{Args as ClapArgs, Command, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use firesteel_host::standard;
use firesteel_placement::Policy;
use firesteel_protocol::messages::{ApplicationView, ExecutorView, MasterView};
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::keys;
use firesteel_settings::variables::Environment;
use firesteel_sim::setup::Setup;

use super::client::ask::Masters;
use super::exit::{self, Exit, Failure};
use super::options::any_bytes::own_words;

/// The environment variable that the completion scripts set.
const VARIABLE: &str = "FIRESTEEL_COMPLETE";

/// The timeout for a Master's answer after the user has pressed tab.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Which shell's script.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The script calls firesteel, so it knows the options of the installed version. Ids of applications, executors and \
Workers come from the Master that other commands would ask; there are none if it does not answer within half a second. \
Print the script again after an upgrade, or let each shell print it at its start:

  echo 'source <(firesteel completions bash)' >> ~/.bashrc
  echo 'source <(firesteel completions zsh)' >> ~/.zshrc
  firesteel completions fish > ~/.config/fish/completions/firesteel.fish

Exit codes: 0 done; 1 failed; 2 wrong usage.")]
pub(super) struct Args {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completion script of the shell.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let called = own_words().next().filter(|name| !name.contains('/'));
    let own = || std::env::current_exe().ok().map(|path| path.display().to_string());
    let program = called.or_else(own).unwrap_or_else(|| "firesteel".to_owned());
    let shells = Shells::builtins();
    let shell = shells.completer(name).expect("it is one of those that clap knows");
    let mut script = Vec::new();
    let made = shell.write_registration(VARIABLE, "firesteel", "firesteel", &program, &mut script);
    exit::written(made.and_then(|()| standard::stdout().write_all(&script)))
}

/// Answers a shell's request for completions and exits. Returns if there is no such request. The caller must not write
/// to standard output before this call.
pub(super) fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(|| with_values(command())).var(VARIABLE).bin("firesteel").complete();
}

/// Adds completions to the command: for each argument that is called APP, EXECUTOR or WORKER in the help, and for the
/// keys of `--conf`.
fn with_values(mut command: Command) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, with_values);
    }
    let ends_some = command.get_name() == "kill";
    let reads_logs = command.get_name() == "logs";
    command.mut_args(|argument| {
        let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        let completer = match value.as_deref() {
            Some("APP") if ends_some => ArgValueCompleter::new(|current: &OsStr| live(current, unfinished)),
            Some("APP") if reads_logs => ArgValueCompleter::new(|current: &OsStr| {
                let names_one = current.to_string_lossy().contains('/');
                live(current, if names_one { executors_by_application } else { applications_and_drivers })
            }),
            Some("APP") => ArgValueCompleter::new(|current: &OsStr| live(current, applications)),
            Some("NAME") if argument.get_long() == Some("placement-policy") => {
                ArgValueCompleter::new(|current: &OsStr| begins(policies(), current))
            }
            Some("NAME,NAME") if matches!(argument.get_long(), Some("policy" | "compare")) => {
                ArgValueCompleter::new(|current: &OsStr| one_more_of(&setups(), current))
            }
            Some("EXECUTOR") => ArgValueCompleter::new(|current: &OsStr| live(current, executors)),
            Some("WORKER") => ArgValueCompleter::new(|current: &OsStr| live(current, workers)),
            Some("KEY=VALUE") => ArgValueCompleter::new(properties),
            Some(_) | None => return argument,
        };
        argument.add(completer)
    })
}

type Named = (String, String);

/// The candidates from a Master's state that begin with the current word. Empty if no Master answers.
fn live(current: &OsStr, of: fn(&MasterView) -> Vec<Named>) -> Vec<CompletionCandidate> {
    let Some(view) = current.to_str().and_then(|_| ask()) else { return Vec::new() };
    begins(of(&view), current)
}

fn begins(named: Vec<Named>, current: &OsStr) -> Vec<CompletionCandidate> {
    let beginning = current.to_string_lossy();
    let fits = named.into_iter().filter(|(word, _)| word.starts_with(&*beginning));
    fits.map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into()))).collect()
}

/// Candidates for the last item of a comma-separated list: names that begin with the typed item. The earlier items
/// precede each candidate.
fn one_more_of(named: &[Named], current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    let before = text.rfind(',').map_or("", |comma| &text[..=comma]);
    begins(named.iter().map(|(word, help)| (format!("{before}{word}"), help.clone())).collect(), current)
}

fn properties(current: &OsStr) -> Vec<CompletionCandidate> {
    let keys = keys::all().filter(|key| !key.name.contains("NAME"));
    begins(keys.map(|key| (format!("{}=", key.name), key.meaning().to_owned())).collect(), current)
}

fn applications(view: &MasterView) -> Vec<Named> {
    view.applications.iter().chain(&view.completed).map(id_and_name).collect()
}

fn applications_and_drivers(view: &MasterView) -> Vec<Named> {
    let drivers = view.drivers.iter().map(|driver| (driver.id.to_string(), driver.state.to_string()));
    applications(view).into_iter().chain(drivers).collect()
}

/// The executors, in the form `APP/EXECUTOR` that `logs` accepts as one word.
fn executors_by_application(view: &MasterView) -> Vec<Named> {
    let of = |application: &ApplicationView| {
        let id = application.id.clone();
        let named = move |executor: &ExecutorView| {
            (format!("{id}/{}", executor.id), format!("on {}", executor.worker))
        };
        application.executors.iter().map(named).collect::<Vec<_>>()
    };
    view.applications.iter().chain(&view.completed).flat_map(of).collect()
}

fn policies() -> Vec<Named> {
    Policy::ALL
        .iter()
        .map(|policy| (policy.name().to_owned(), "a rule by which Workers are chosen".to_owned()))
        .collect()
}

fn setups() -> Vec<Named> {
    Setup::ALL.iter().map(|setup| (setup.name().into_owned(), setup.meaning().to_owned())).collect()
}

/// The applications that have not ended, for `kill`.
fn unfinished(view: &MasterView) -> Vec<Named> {
    view.applications.iter().map(id_and_name).collect()
}

fn id_and_name(application: &ApplicationView) -> Named {
    (application.id.to_string(), application.name.clone())
}

fn executors(view: &MasterView) -> Vec<Named> {
    executors_of(view, &own_words().collect::<Vec<_>>())
}

/// The executors of the applications that the words name. If the words name no application: the executors of all
/// applications.
fn executors_of(view: &MasterView, words: &[String]) -> Vec<Named> {
    let all = || view.applications.iter().chain(&view.completed);
    let is_named = |id: &str| words.iter().any(|word| word == id);
    let any_named = all().any(|application| is_named(&application.id.to_string()));
    let meant = all().filter(|application| !any_named || is_named(&application.id.to_string()));
    let executors = meant.flat_map(|application| &application.executors);
    let mut named: Vec<Named> =
        executors.map(|executor| (executor.id.to_string(), format!("on {}", executor.worker))).collect();
    named.sort();
    named.dedup_by(|one, other| one.0 == other.0);
    named
}

fn workers(view: &MasterView) -> Vec<Named> {
    view.workers.iter().map(|worker| (worker.id.to_string(), format!("{:?}", worker.state))).collect()
}

/// Asks the Master that the command line names, or the default Master, with a short timeout.
fn ask() -> Option<MasterView> {
    let words: Vec<String> = own_words().collect();
    let after = |word: &String| words.iter().skip_while(|other| *other != word).nth(1).cloned();
    let named = words.iter().find_map(|word| match word.strip_prefix("--master=") {
        Some(url) => Some(url.to_owned()),
        None => (word == "--master").then(|| after(word)).flatten(),
    });
    let cluster = Masters::of(named).cluster_with("completions", Environment::of_this_process()).ok()?;
    let asking = async { tokio::time::timeout(ANSWER_TIMEOUT, cluster.state(Extent::Whole)).await };
    super::block_on(asking).ok()?.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_placement::{Cores, MiB, Resources};
    use firesteel_protocol::Timestamp;
    use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
    use firesteel_protocol::messages::{ApplicationState, ExecutorState, Submitter};

    fn application(id: &str, name: &str, executors: &[u32]) -> ApplicationView {
        let executor = |number: &u32| ExecutorView {
            id: ExecutorId(*number),
            worker: WorkerId::new("worker-1"),
            profile: ProfileId::DEFAULT,
            cores: Cores(1),
            memory: MiB(1),
            resources: Resources::default(),
            state: ExecutorState::Running,
            host: "h".to_owned(),
            port: 1,
            directory: String::new(),
            launched: Timestamp::default(),
            started: None,
            ended: None,
        };
        ApplicationView {
            state: ApplicationState::Running,
            cores_granted: Cores(1),
            memory_per_executor: MiB(1),
            executors_live: executors.len() as u64,
            executors: executors.iter().map(executor).collect(),
            ..ApplicationView::registered(AppId::new(id), Submitter::new(name, "ann"), Timestamp::default())
        }
    }

    fn view() -> MasterView {
        MasterView {
            applications: vec![application("app-1", "sums", &[0, 2]), application("app-2", "logs", &[1])],
            completed: vec![application("app-0", "old", &[])],
            ..MasterView::empty("spark://h:1")
        }
    }

    fn words(named: Vec<Named>) -> Vec<String> {
        named.into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn applications_are_offered_with_their_names_if_they_fit() {
        assert_eq!(words(applications(&view())), ["app-1", "app-2", "app-0"]);
        assert_eq!(words(unfinished(&view())), ["app-1", "app-2"], "one that is over cannot be killed");
        let offered = begins(applications(&view()), OsStr::new("app-2"));
        let [only] = &offered[..] else { panic!("{offered:?}") };
        assert_eq!(only.get_value(), "app-2");
        assert_eq!(only.get_help().map(ToString::to_string).as_deref(), Some("logs"));
    }

    #[test]
    fn executors_are_those_of_the_application_on_the_line() {
        let of = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words(executors_of(&view(), &line))
        };
        assert_eq!(of("firesteel logs app-1"), ["0", "2"]);
        assert_eq!(of("firesteel logs"), ["0", "1", "2"]);
        assert_eq!(words(executors_by_application(&view())), ["app-1/0", "app-1/2", "app-2/1"]);
    }

    #[test]
    fn policies_are_completed_one_after_the_other() {
        let offered = |current: &str| {
            let candidates = one_more_of(&setups(), OsStr::new(current));
            candidates.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(offered("spark-"), ["spark-consolidate"]);
        assert_eq!(offered("expr:left.cores,be"), ["expr:left.cores,best-fit"]);
    }

    #[test]
    fn every_policy_is_offered() {
        assert_eq!(
            words(policies()),
            ["spark", "best-fit", "least-fragmentation", "learned-fragmentation", "spread-held", "lifetimes"]
        );
    }
}
