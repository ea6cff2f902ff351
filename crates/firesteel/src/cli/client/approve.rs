//! `firesteel approve`: admits a machine that asks for the credentials of a Worker.

use std::collections::BTreeMap;
use std::io::Write as _;

use clap::Args as ClapArgs;
use firesteel_host::net::Keyring;
use firesteel_host::plain::{self, clean};
use firesteel_protocol::messages::WaitingMachine;
use serde::Serialize;

use super::ask::{self, Cluster, Masters};
use super::document;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::table::table;

const SCHEMA: u32 = 1;

const EXAMPLES: &str = "  firesteel approve                        the machines that wait
  firesteel approve 4821-0937-1156-2204    admit the machine that shows this number";

const NOTES: &str = "\
A machine that is started with firesteel worker --join shows a number, which it made with the Master. Read it at the machine: a \
number that somebody sends you may be that of his machine. The machine then gets the credentials of a Worker, and starts.

It needs the credentials of an administrator, and the Master that leads.";

const CODES: &str = "\
Exit codes: 0 done; 1 no machine has this number, or only an administrator may do this; 2 wrong usage; 69 no Master could be \
reached; 75 a Master did not answer in time or in full; 76 what listens there is no Master of this version, or has another \
secret; 78 a settings file or variable is wrong, or there are no credentials.";

/// The options of `firesteel approve`: which machine is admitted.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("approve", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    /// Number that the machine shows [default: none; lists the machines that wait]
    #[arg(value_name = "NUMBER", value_parser = number)]
    number: Option<String>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    masters: Masters,
}

/// The number in its usual form. People may leave the hyphens out.
fn number(text: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if digits.len() != 16 || text.chars().any(|sign| !sign.is_ascii_digit() && !"- ".contains(sign)) {
        return Err("a number has 16 digits, such as 4821-0937-1156-2204".to_owned());
    }
    let parts: Vec<&str> = (0..4).map(|part| &digits[part * 4..part * 4 + 4]).collect();
    Ok(parts.join("-"))
}

/// A machine in the JSON value.
#[derive(Serialize)]
struct Machine<'a> {
    host: &'a str,
    from: &'a str,
    since_millis: u64,
}

impl<'a> Machine<'a> {
    fn of(machine: &'a WaitingMachine) -> Self {
        let WaitingMachine { host, from, since } = machine;
        Self { host, from, since_millis: since.millis() }
    }
}

/// Admits the machine, or lists those that wait.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("approve")?;
    let Some(keyring) = cluster.keyring() else {
        let words = "machines are admitted to clusters with a secret only, by an administrator: set firesteel.credentials.file \
                     (firesteel secret --help)";
        return Err(Failure::of(Exit::Configuration, words));
    };
    match &args.number {
        Some(number) => admit(args, (&cluster, keyring), number),
        None => list(args, (&cluster, keyring)),
    }
}

fn admit(args: &Args, (cluster, keyring): (&Cluster, &Keyring), number: &str) -> Result<Exit, Failure> {
    match ask::now(cluster.approve(keyring, number))? {
        Err(why) => Err(Failure::of(Exit::Failure, why)),
        Ok(machine) if args.json => {
            exit::written(document::print(SCHEMA, BTreeMap::from([("admitted", [Machine::of(&machine)])])))
        }
        Ok(WaitingMachine { host, from, .. }) => {
            exit::written(writeln!(plain::stdout(), "admitted {} at {from}", clean(&host)))
        }
    }
}

fn list(args: &Args, (cluster, keyring): (&Cluster, &Keyring)) -> Result<Exit, Failure> {
    let machines = match ask::now(cluster.waiting(keyring))? {
        Ok(machines) => machines,
        Err(why) => return Err(Failure::of(Exit::Failure, why)),
    };
    if args.json {
        let machines: Vec<Machine<'_>> = machines.iter().map(Machine::of).collect();
        return exit::written(document::print(SCHEMA, BTreeMap::from([("waiting", machines)])));
    }
    if machines.is_empty() {
        return exit::written(writeln!(plain::stdout(), "No machine waits (firesteel worker --join)."));
    }
    let rows = machines.iter().map(|machine| {
        vec![clean(&machine.host).to_string(), machine.from.clone(), machine.since.to_string()]
    });
    exit::written(writeln!(plain::stdout(), "{}", table(&["HOST", "FROM", "SINCE"], rows.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_written_with_and_without_hyphens() {
        for right in ["4821-0937-1156-2204", "4821093711562204", "4821 0937 1156 2204"] {
            assert_eq!(number(right).as_deref(), Ok("4821-0937-1156-2204"));
        }
        for wrong in ["", "4821", "4821-0937-1156-22045", "4821-0937-1156-220x", "4821/0937/1156/2204"] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
