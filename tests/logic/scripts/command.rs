//! Parses the words of a command.

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::messages::{ExecutorState, Outcome, ResourceProfile};
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};

/// A command's words after the first: names, and settings `key=value`.
pub struct Words<'a> {
    line: &'a str,
    names: Vec<&'a str>,
    settings: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    /// The first word, and the others.
    pub fn of(line: &'a str) -> (&'a str, Self) {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let (mut names, mut settings) = (Vec::new(), Vec::new());
        for word in words {
            match word.split_once('=') {
                Some(setting) => settings.push(setting),
                None => names.push(word),
            }
        }
        (verb, Self { line, names, settings })
    }

    /// The name at this position.
    pub fn name(&self, place: usize) -> &'a str {
        self.names.get(place).unwrap_or_else(|| panic!("a name is missing in {:?}", self.line))
    }

    /// All names from this position on.
    pub fn names_from(&self, place: usize) -> &[&'a str] {
        self.names.get(place..).unwrap_or_default()
    }

    /// All settings, in order.
    pub fn settings(&self) -> &[(&'a str, &'a str)] {
        &self.settings
    }

    pub fn setting(&self, key: &str) -> Option<&'a str> {
        self.settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// Parses `succeeded`, `failed 3 of 10 items failed` or `cancelled none of 10 items done`, from this position on.
    pub fn outcome(&self, place: usize) -> Option<Outcome> {
        let (word, rest) = self.names_from(place).split_first()?;
        Some(match *word {
            "succeeded" => Outcome::Succeeded,
            "failed" => Outcome::failed(rest.join(" ")),
            "cancelled" => Outcome::cancelled(rest.join(" ")),
            other => panic!("no work ends {other:?}"),
        })
    }

    pub fn cores(&self, key: &str) -> Option<Cores> {
        self.setting(key).map(|text| Cores(number(text)))
    }

    pub fn memory(&self, key: &str) -> Option<MiB> {
        self.setting(key).map(memory)
    }

    /// Parses `gpu=0,1,2`: the addresses of a Worker's only custom resource.
    pub fn resources(&self) -> Resources {
        match self.setting("gpu") {
            Some(addresses) => Resources::from_iter([("gpu", addresses.split(','))]),
            None => Resources::default(),
        }
    }

    /// Parses `cores=2 memory=512m gpu=1`: the needs of an executor.
    pub fn profile(&self) -> ResourceProfile {
        ResourceProfile {
            cores: self.cores("cores"),
            memory: self.memory("memory"),
            resources: self
                .setting("gpu")
                .map(|text| ("gpu".to_owned(), text.parse().expect("an amount")))
                .into_iter()
                .collect(),
        }
    }

    /// Parses `running`, `exited code=1`, `exited signal=9`, `killed`, `failed` or `launching`.
    pub fn state(&self, place: usize) -> ExecutorState {
        let status = match (self.setting("code"), self.setting("signal")) {
            (Some(code), _) => Some(ExitStatus::Code(code.parse().expect("an exit code"))),
            (None, Some(signal)) => Some(ExitStatus::Signal(signal.parse().expect("a signal"))),
            (None, None) => None,
        };
        state(self.name(place), status)
    }
}

pub fn state(name: &str, status: Option<ExitStatus>) -> ExecutorState {
    match name {
        "launching" => ExecutorState::Launching,
        "running" => ExecutorState::Running,
        "exited" => ExecutorState::Exited(status.unwrap_or(ExitStatus::SUCCESS)),
        "killed" => ExecutorState::Killed(status),
        "failed" => {
            ExecutorState::Failed(StartFailure { step: StartStep::Program, error: "no such file".to_owned() })
        }
        other => panic!("no state is called {other:?}"),
    }
}

/// Parses `4g` or `512m`.
pub fn memory(text: &str) -> MiB {
    match (text.strip_suffix('g'), text.strip_suffix('m')) {
        (Some(gib), _) => MiB(number(gib) * 1024),
        (None, Some(mib)) => MiB(number(mib)),
        (None, None) => panic!("{text:?} is no memory: write 4g or 512m"),
    }
}

/// Parses `90s` or `250ms` into milliseconds.
pub fn millis(text: &str) -> u64 {
    match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(millis), _) => millis.parse().expect("a number of milliseconds"),
        (None, Some(seconds)) => seconds.parse::<u64>().expect("a number of seconds") * 1000,
        (None, None) => panic!("{text:?} is no time: write 90s or 250ms"),
    }
}

pub fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}
