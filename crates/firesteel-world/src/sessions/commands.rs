//! Random input of a world: the typed lines, and the contents of files.

use std::path::Path;

use firesteel_sim::dice::Dice;

/// A line of up to three commands.
pub(super) fn line(dice: &mut Dice) -> String {
    let commands: Vec<String> = (0..dice.below(4)).map(|_| command(dice)).collect();
    // A command in the background ends with &.
    commands.join(" ; ").replace("& ;", "&")
}

/// A line with this number of background commands.
pub(super) fn crowd(count: u64) -> String {
    (0..count).map(|_| "run true & ").collect()
}

/// The path of a file that reads itself.
const ITSELF: &str = "itself";

/// The random contents of a file of commands. Some files read a file that reads itself.
pub(super) fn file(dice: &mut Dice, path: &Path, recursive: u64) -> String {
    if path == Path::new(ITSELF) {
        return format!("source {ITSELF}");
    }
    let mut lines: Vec<String> = (0..dice.below(4)).map(|_| line(dice)).collect();
    if dice.one_in(recursive) {
        lines.push(format!("source {ITSELF}"));
    }
    lines.join("\n")
}

fn command(dice: &mut Dice) -> String {
    let pipe = if dice.one_in(10) { " |" } else { "" };
    if dice.one_in(30) {
        return "nonsense".to_owned();
    }
    match dice.below(26) {
        0..=3 => format!("run {}true{pipe}", target(dice)),
        4..=6 => format!("run {}true{pipe} &", target(dice)),
        7 => {
            let (profile, items) = (profile(dice), dice.one_in(2));
            let (file, words) = if items { ("", " ::: a") } else { ("-i items ", "") };
            format!("map --profile {profile} --cores 1 {file}true{pipe}{words}")
        }
        8 => "executors".to_owned(),
        9 => (*dice.pick(&["tasks", "tasks --all"])).to_owned(),
        10 => {
            if dice.one_in(3) {
                format!("watch {}", task(dice))
            } else {
                "watch".to_owned()
            }
        }
        11 => {
            if dice.one_in(2) {
                "wait".to_owned()
            } else {
                format!("wait {} {}", task(dice), task(dice))
            }
        }
        12 => format!("wait --executors {} --for {}", dice.below(4), dice.below(4)),
        13 => {
            if dice.one_in(2) {
                "cancel --all".to_owned()
            } else {
                format!("cancel {}", task(dice))
            }
        }
        14 => {
            let surplus = dice.pick(&["", " --kill"]);
            format!("request {} --profile {}{surplus}", dice.below(5), profile(dice))
        }
        15 => format!("kill {}{}", dice.below(4), dice.pick(&[" --replace", ""])),
        16 => "why".to_owned(),
        17 => format!("profile add {}", dice.below(3)),
        18 => "profile list".to_owned(),
        19 => "status".to_owned(),
        20 => "set".to_owned(),
        21 => {
            let words = ["cores 2", "directory data", "directory executor", "env NAME", "env NAME=value"];
            format!("set {}", dice.pick(&words))
        }
        22 => (*dice.pick(&["settings", "history", "history 3"])).to_owned(),
        23 | 24 => "source commands".to_owned(),
        _ => (*dice.pick(&["quit", "quit 7", "help run", "help", "help", "help run"])).to_owned(),
    }
}

fn target(dice: &mut Dice) -> String {
    match dice.one_in(5) {
        true => format!("--on {} ", dice.below(4)),
        false => format!("--profile {} ", profile(dice)),
    }
}

fn task(dice: &mut Dice) -> u64 {
    dice.between(1, 12)
}

fn profile(dice: &mut Dice) -> u64 {
    *dice.pick(&[0, 0, 0, 1])
}
