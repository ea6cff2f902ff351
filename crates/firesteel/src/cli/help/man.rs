//! `firesteel man`: writes a manual page for each command from the text of its help.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args as ClapArgs, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use firesteel_host::exit_code;
use firesteel_settings::Reader;
use firesteel_settings::variables::{self, Role};

use crate::cli::exit::{Exit, Failure, saved};

/// The options of `firesteel man`: where the pages are written.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  firesteel man --out ~/.local/share/man/man1
  man firesteel-map

Exit codes: 0 done; 1 failed; 2 wrong usage.")]
pub(in crate::cli) struct Args {
    /// Directory for the pages; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(in crate::cli) fn run(args: &Args, mut command: Command) -> Result<Exit, Failure> {
    fs::create_dir_all(&args.out).map_err(|error| Failure::of_write(&args.out, &error))?;
    command = command.disable_help_subcommand(true);
    command.build();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        let page = page(&command);
        let path = args.out.join(Man::new(command.clone()).get_filename());
        let text = page.map_err(|error| Failure::of_write(&path, &error))?;
        saved(&path, text)?;
        left.extend(command.get_subcommands().filter(|it| !it.is_hide_set()).cloned());
    }
    Ok(Exit::Done)
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source("firesteel").manual("Firesteel Manual");
    let words = HelpTexts::of(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let mut roff = Roff::default();
    synopsis(&mut roff, command);
    roff.to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    let mut roff = Roff::default();
    for paragraph in &words.notes {
        roff.control("PP", []).text([roman(paragraph.as_str())]);
    }
    roff.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|it| !it.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::default();
    if !words.properties.is_empty() {
        roff.control("SH", ["PROPERTIES AND THEIR DEFAULTS"]);
        for (name, meaning) in &words.properties {
            entry(&mut roff, name, meaning);
        }
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_code::TABLE.iter().filter(|(code, _)| words.has_code(*code)) {
        entry(&mut roff, &code.to_string(), meaning);
    }
    environment(&mut roff, command);
    files(&mut roff, command);
    roff.control("SH", ["EXAMPLES"]);
    for example in &words.examples {
        roff.control("PP", []).control("EX", []).text([roman(example.as_str())]).control("EE", []);
    }
    see_also(&mut roff, command);
    roff.to_writer(&mut page)?;
    page.flush()?;
    Ok(page)
}

/// The syntax of the command: its options with their values, then its arguments.
fn synopsis(roff: &mut Roff, command: &Command) {
    let (options, arguments): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .partition(|argument| !argument.is_positional());
    let mut line = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    for option in options {
        let (open, close) = if option.is_required_set() { (" ", "") } else { (" [", "]") };
        let short = option.get_short().map(|short| format!("-{short}"));
        let long = option.get_long().map(|long| format!("--{long}"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        line.extend([roman(open), bold(names.join("|"))]);
        if option.get_action().takes_values() {
            line.extend([roman(" "), italic(values(option))]);
        }
        line.push(roman(close));
        if matches!(option.get_action(), ArgAction::Append) {
            line.push(roman("..."));
        }
    }
    for argument in arguments {
        let (open, close) = if argument.is_required_set() { (" ", "") } else { (" [", "]") };
        let more = argument.get_num_args().is_some_and(|count| count.max_values() > 1);
        line.extend([
            roman(open),
            italic(values(argument)),
            roman(if more { "..." } else { "" }),
            roman(close),
        ]);
    }
    if command.has_subcommands() {
        line.push(italic(" COMMAND"));
    }
    roff.control("SH", ["SYNOPSIS"]).text(line);
}

fn values(argument: &Arg) -> String {
    let named = argument.get_value_names().map(|names| names.join(" "));
    named.unwrap_or_else(|| argument.get_id().as_str().to_uppercase())
}

/// The texts below the options in a command's help, by topic.
#[derive(Debug, Default)]
struct HelpTexts {
    notes: Vec<String>,
    examples: Vec<String>,
    codes: String,
    properties: Vec<(String, String)>,
}

impl HelpTexts {
    fn of(command: &Command) -> Self {
        let help = command.get_after_long_help().or(command.get_after_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let mut words = Self::default();
        for paragraph in help.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
            let paragraph = paragraph.strip_prefix("Examples:\n").unwrap_or(paragraph);
            if paragraph.starts_with("Exit codes: ") {
                paragraph.clone_into(&mut words.codes);
            } else if paragraph.starts_with("Properties (") {
                words.properties.extend(properties(paragraph));
            } else if paragraph.starts_with("  ") {
                words.examples.extend(paragraph.lines().map(|line| line.trim().to_owned()));
            } else {
                words.notes.push(paragraph.replace('\n', " "));
            }
        }
        words
    }

    /// Whether the help lists this exit code.
    fn has_code(&self, code: u8) -> bool {
        let code = code.to_string();
        self.codes.split(|c: char| !c.is_ascii_digit()).any(|word| word == code)
    }
}

/// Splits a list made by `settings::reference` into pairs: the name with its default, and the
/// meaning.
fn properties(paragraph: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in paragraph.lines().skip(1) {
        match (line.strip_prefix("      "), found.last_mut()) {
            (Some(more), Some((_, meaning))) => {
                if !meaning.is_empty() {
                    meaning.push(' ');
                }
                meaning.push_str(more);
            }
            (_, _) => found.push((line.trim().to_owned(), String::new())),
        }
    }
    found
}

/// Writes a term, and the term's meaning below it.
fn entry(roff: &mut Roff, word: &str, meaning: &str) {
    roff.control("TP", []).text([bold(word)]).text([roman(meaning)]);
}

/// The environment variables that the command reads.
fn environment(roff: &mut Roff, command: &Command) {
    roff.control("SH", ["ENVIRONMENT"]);
    let readers: &[Reader] = match command.get_name() {
        "master" => &[Reader::Master],
        "worker" => &[Reader::Worker],
        "config" | "check" | "show" => &Reader::ALL,
        _ => &[Reader::Application],
    };
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    if has("pairs") || has("master") || readers.len() > 1 {
        for variable in variables::TABLE {
            let theirs = readers.iter().any(|reader| variable.readers.contains(reader));
            let meaning = match variable.role {
                Role::Flag(flag) => format!("{} (default of {flag})", variable.meaning),
                Role::Property(key) => format!("{} (default of {key})", variable.meaning),
                Role::Override(key) => format!("{} (overrides {key})", variable.meaning),
                Role::Options | Role::Place | Role::Java | Role::JavaOptions => variable.meaning.to_owned(),
                Role::Ignored => continue,
            };
            if theirs {
                entry(roff, variable.name, &meaning);
            }
        }
    }
    entry(
        roff,
        "RUST_LOG",
        "what to log, such as info, debug or firesteel_host::net=trace; it overrides --verbose and --quiet",
    );
    entry(roff, "FIRESTEEL_LOG_FORMAT", "form of the log: text or json (default of --log-format)");
    entry(roff, "NO_COLOR, CLICOLOR_FORCE, TERM", "whether to use colour, if --color is not given");
}

fn files(roff: &mut Roff, command: &Command) {
    roff.control("SH", ["FILES"]);
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    if has("pairs") || has("master") || ["config", "check"].contains(&command.get_name()) {
        let defaults = "properties, in $SPARK_CONF_DIR, or else in $SPARK_HOME/conf or /etc/firesteel";
        entry(roff, "spark-defaults.conf", defaults);
    } else {
        roff.text([roman("None of its own.")]);
    }
}

fn see_also(roff: &mut Roff, command: &Command) {
    roff.control("SH", ["SEE ALSO"]);
    let pages = match command.get_name() {
        "firesteel" => "firesteel-map(1), firesteel-master(1), firesteel-worker(1), firesteel-config(1)",
        _ => "firesteel(1), firesteel-config(1)",
    };
    roff.text([roman(pages)]);
}
