//! A page: commands and their answers.

use std::fmt;

use super::normal::Normal;
use super::session::Session;
use firesteel_testkit::Cluster;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    cluster: Option<String>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Lines for people, including empty ones.
    Words(String),
    /// A command that is repeated until it succeeds.
    Until(String),
    /// A command, its original lines, and its answer.
    Command { lines: String, answer: String },
}

impl Page {
    /// The page with today's answers in normal form.
    pub(super) fn parse(text: &str) -> Self {
        let mut lines = text.lines().peekable();
        let cluster = lines.next_if(|line| line.starts_with("cluster ")).map(str::to_owned);
        let mut parts: Vec<Part> = Vec::new();
        while let Some(line) = lines.next() {
            if let Some(command) = line.strip_prefix("~ ") {
                parts.push(Part::Until(command.to_owned()));
            } else if let Some(first) = line.strip_prefix("$ ") {
                let mut command = first.to_owned();
                while command.ends_with('\\')
                    && let Some(next) = lines.next()
                {
                    command = command + "\n" + next;
                }
                parts.push(Part::Command { lines: command, answer: String::new() });
            } else if line.starts_with('#') {
                parts.push(Part::Words(line.to_owned() + "\n"));
            } else {
                match parts.last_mut() {
                    Some(Part::Command { answer, .. }) => *answer += &(line.to_owned() + "\n"),
                    _ => parts.push(Part::Words(line.to_owned() + "\n")),
                }
            }
        }
        // An empty line separates an answer from what follows.
        let mut spaced = Vec::new();
        for part in parts {
            match part {
                Part::Command { lines, answer } => {
                    let (answer, space) = match answer.strip_suffix("\n\n").or(answer.strip_prefix("\n")) {
                        Some(rest) if !rest.is_empty() => {
                            (format!("{}\n", rest.trim_end_matches('\n')), true)
                        }
                        Some(_) => (String::new(), true),
                        None => (answer, false),
                    };
                    spaced.push(Part::Command { lines, answer });
                    if space {
                        spaced.push(Part::Words("\n".to_owned()));
                    }
                }
                part => spaced.push(part),
            }
        }
        Self { cluster, parts: spaced }
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Command { lines, answer } => Some((lines.as_str(), answer.as_str())),
            Part::Words(_) | Part::Until(_) => None,
        })
    }

    pub(super) fn play(&self) -> Self {
        let cluster = self.cluster.as_deref().map(started);
        let master = cluster.as_ref().map(|cluster| ("MASTER", cluster.master.url()));
        let mut session = Session::start(master.as_slice());
        let mut normal = Normal::default();
        let parts = self.parts.iter().map(|part| match part {
            Part::Words(_) => part.clone(),
            Part::Until(command) => {
                session.wait_until(command);
                part.clone()
            }
            Part::Command { lines, .. } => {
                let (said, code) = session.run(lines);
                let mut answer = normal.form(&said, session.directory());
                if !answer.is_empty() && !answer.ends_with('\n') {
                    answer.push('\n');
                }
                if code != 0 {
                    answer += &format!("[exit code {code}]\n");
                }
                Part::Command { lines: lines.clone(), answer }
            }
        });
        Self { cluster: self.cluster.clone(), parts: parts.collect() }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cluster) = &self.cluster {
            writeln!(f, "{cluster}")?;
        }
        self.parts.iter().try_for_each(|part| match part {
            Part::Words(words) => f.write_str(words),
            Part::Until(command) => writeln!(f, "~ {command}"),
            Part::Command { lines, answer } => write!(f, "$ {lines}\n{answer}"),
        })
    }
}

/// Starts the daemons that a line like `cluster workers=2 cores=4 memory=2g master:spark.worker.timeout=5` names.
fn started(line: &str) -> Cluster {
    let words = || line.split_whitespace().skip(1);
    let with = |prefix: &'static str| words().filter_map(move |word| word.strip_prefix(prefix));
    let count: usize = with("workers=").next().map_or(1, |count| count.parse().expect("a number"));
    let flags = words().filter(|word| !word.contains(':') && !word.starts_with("workers="));
    let flags: Vec<String> = flags
        .map(|word| {
            let (name, value) = word.split_once('=').expect("a flag and its value");
            format!("--{name}={value}")
        })
        .collect();
    let mut arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
    arguments.extend(with("worker:").flat_map(|pair| ["--conf", pair]));
    let properties: Vec<&str> = with("master:").collect();
    Cluster::plan().properties(&properties).worker(&arguments).start(count)
}

#[test]
fn a_page_reads_as_it_is_written() {
    let text =
        "cluster workers=1\n\n# Words.\n$ a \\\n  b\nsaid\n\nmore\n[exit code 1]\n\n~ true\n$ c\n\n$ d\nx\n";
    let page = Page::parse(text);
    assert_eq!(page.to_string(), text);
    let commands: Vec<_> = page.commands().collect();
    assert_eq!(commands, [("a \\\n  b", "said\n\nmore\n[exit code 1]\n"), ("c", ""), ("d", "x\n")]);
}
