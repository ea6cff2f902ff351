//! The project's own rules: floors, purity, and an up-to-date map.

mod circles;
mod glossary;
mod runbook;
mod sizes;
mod testing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firesteel_placement::Policy;

use crate::fixtures;

fn root() -> PathBuf {
    fixtures::path("..")
}

#[expect(clippy::disallowed_methods, reason = "tests read the sources")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust source file under the folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// What tests and benches share. The program has nothing of it, so that no other crate may depend on it.
const TESTKIT: &str = "firesteel-testkit";

/// The crates, lowest floor first, each with the crates of the workspace on which it may depend.
const FLOORS: &[(&str, &[&str])] = &[
    ("firesteel-placement", &[]),
    ("firesteel-derive", &[]),
    ("firesteel-sasl", &[]),
    ("firesteel-protocol", &["firesteel-placement", "firesteel-derive"]),
    ("firesteel-master", &["firesteel-placement", "firesteel-protocol"]),
    ("firesteel-worker", &["firesteel-placement", "firesteel-protocol"]),
    ("firesteel-engine", &["firesteel-placement", "firesteel-protocol"]),
    ("firesteel-application-master", &["firesteel-placement", "firesteel-protocol"]),
    ("firesteel-sim", &["firesteel-placement", "firesteel-protocol", "firesteel-master"]),
    ("firesteel-spark", &["firesteel-placement", "firesteel-protocol", "firesteel-master", "firesteel-sasl"]),
    (
        "firesteel-world",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-master",
            "firesteel-worker",
            "firesteel-engine",
            "firesteel-application-master",
            "firesteel-sim",
            "firesteel-spark",
        ],
    ),
    ("firesteel-yarn", &["firesteel-sasl"]),
    ("firesteel-host", &["firesteel-placement", "firesteel-protocol"]),
    (
        "firesteel-settings",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-master",
            "firesteel-worker",
            "firesteel-engine",
            "firesteel-application-master",
        ],
    ),
    ("firesteel-zookeeper", &["firesteel-protocol", "firesteel-host"]),
    (
        "firesteel-daemons",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-master",
            "firesteel-worker",
            "firesteel-engine",
            "firesteel-sim",
            "firesteel-spark",
            "firesteel-host",
            "firesteel-settings",
            "firesteel-zookeeper",
        ],
    ),
    (
        "firesteel-yarn-mode",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-worker",
            "firesteel-application-master",
            "firesteel-yarn",
            "firesteel-host",
            "firesteel-settings",
            "firesteel-daemons",
        ],
    ),
    (
        "firesteel-apps",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-engine",
            "firesteel-yarn",
            "firesteel-host",
            "firesteel-settings",
            "firesteel-daemons",
            "firesteel-yarn-mode",
        ],
    ),
    (
        "firesteel",
        &[
            "firesteel-placement",
            "firesteel-protocol",
            "firesteel-master",
            "firesteel-engine",
            "firesteel-sim",
            "firesteel-yarn",
            "firesteel-host",
            "firesteel-settings",
            "firesteel-daemons",
            "firesteel-yarn-mode",
            "firesteel-apps",
        ],
    ),
    (TESTKIT, &["firesteel-placement", "firesteel-protocol", "firesteel-master", "firesteel-host"]),
];

/// The crates that decide, without runtime and I/O.
const PURE: &[&str] = &[
    "firesteel-placement",
    "firesteel-protocol",
    "firesteel-master",
    "firesteel-worker",
    "firesteel-engine",
    "firesteel-application-master",
    "firesteel-sim",
    "firesteel-world",
    "firesteel-sasl",
    "firesteel-spark",
];

/// The workspace's crates in a section of a manifest.
fn ours(manifest: &str, section: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != section).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| name.starts_with("firesteel"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn dependencies_point_to_the_floors_below() {
    let crates = root().join("crates");
    let mut there: Vec<String> = (crates.read_dir().expect("the folder of crates"))
        .map(|entry| entry.expect("the folder can be read").file_name().into_string().expect("plain names"))
        .collect();
    there.sort();
    let mut known: Vec<&str> = FLOORS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(there, known, "a crate has no floor in this test");
    for (name, below) in FLOORS {
        let manifest = read(&crates.join(name).join("Cargo.toml"));
        for dependency in ours(&manifest, "[dependencies]") {
            assert!(below.contains(&dependency.as_str()), "{name} depends on {dependency}");
        }
    }
}

/// `cargo doc --document-private-items` lists the modules, with the first sentence of each file. So every file must
/// have one.
#[test]
fn every_file_begins_by_saying_what_it_is() {
    let mut silent = Vec::new();
    for (name, _) in FLOORS {
        let folder = root().join("crates").join(name).join("src");
        for source in sources(&folder) {
            let path = source.strip_prefix(&folder).expect("it is under the folder");
            let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
            let text = read(&source);
            let first = text.lines().next().and_then(|line| line.strip_prefix("//! "));
            if !is_test && first.is_none_or(|sentence| sentence.split_whitespace().count() < 3) {
                silent.push(format!("{name}: {}", path.display()));
            }
        }
    }
    assert!(silent.is_empty(), "no sentence of three words at the top of:\n{}", silent.join("\n"));
}

/// The map names every crate, and nothing that does not exist: what each folder is stands at the top of its `mod.rs`.
#[test]
fn the_architecture_names_every_crate_and_only_what_exists() {
    let map = read(&root().join("docs/ARCHITECTURE.md"));
    for (name, _) in FLOORS {
        assert!(map.contains(&format!("`{name}`")), "docs/ARCHITECTURE.md does not name {name}");
    }
    let all: Vec<PathBuf> =
        FLOORS.iter().flat_map(|(name, _)| sources(&root().join("crates").join(name).join("src"))).collect();
    let is_there = |named: &str| {
        let named = named.trim_end_matches('/');
        root().join(named).exists()
            || all.iter().any(|source| source.ancestors().any(|path| path.ends_with(named)))
    };
    let paths =
        map.split('`').skip(1).step_by(2).filter(|word| {
            !word.contains(char::is_whitespace) && (word.ends_with('/') || word.ends_with(".rs"))
        });
    let stale: Vec<&str> = paths.filter(|named| !is_there(named)).collect();
    assert!(stale.is_empty(), "docs/ARCHITECTURE.md names what does not exist: {stale:?}");
}

#[test]
fn the_pure_crates_ban_the_same_things_and_have_no_runtime() {
    let crates = root().join("crates");
    let bans = read(&crates.join("firesteel-placement/clippy.toml"));
    for name in PURE {
        assert_eq!(read(&crates.join(name).join("clippy.toml")), bans, "{name} bans something else");
        let manifest = read(&crates.join(name).join("Cargo.toml"));
        for shell in ["tokio", "nix", "clap", "tracing", "anyhow"] {
            assert!(!manifest.contains(shell), "{name} depends on {shell}");
        }
    }
}

/// Modules that only some others of their crate may use. For other crates, the manifests decide.
const USERS: [(&str, &str, &[&str]); 8] = [
    ("firesteel-protocol", "messages", &["executor_trouble", "state_reader"]),
    ("firesteel-protocol", "executor_trouble", &[]),
    ("firesteel-protocol", "state_reader", &[]),
    // A map run uses the types of its driver, and a session those of its driver and of its map runs.
    ("firesteel-engine", "driver", &["map", "session"]),
    ("firesteel-engine", "executor", &[]),
    ("firesteel-engine", "launcher", &[]),
    ("firesteel-engine", "map", &["session"]),
    ("firesteel-engine", "session", &[]),
];
/// An ApplicationMaster owns its allocator, which uses no other module of its crate.
const OWNED: (&str, &str) = ("firesteel-application-master", "allocator");

/// The top-level modules of the crate that a source names: `crate::a`, `use crate::{a, b::c}`. Other items at the top
/// are an empty name.
fn modules_named<'a>(code: &'a str, modules: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let name = |path: &'a str| -> &'a str {
        let path = path.trim_start();
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
        if modules.contains(&path[..end]) { &path[..end] } else { "" }
    };
    let mut named = BTreeSet::new();
    for (at, start) in code.match_indices("crate::") {
        let path = &code[at + start.len()..];
        let Some(group) = path.strip_prefix('{') else {
            named.insert(name(path));
            continue;
        };
        let mut depth = 0;
        named.insert(name(group));
        for (at, c) in group.char_indices() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 && !group[at + 1..].trim_start().starts_with('}') => {
                    named.insert(name(&group[at + 1..]));
                }
                _ => {}
            }
        }
    }
    named
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let modules = ["driver", "map"].map(str::to_owned).into();
    for (source, expected) in [
        ("use crate::driver::Config;", &["driver"][..]),
        ("fn a(b: crate::map::Event) {}", &["map"]),
        ("use crate::{\n    driver::{self, Event},\n    map,\n};", &["driver", "map"]),
        ("use crate::*;", &[""]),
        ("use super::driver::Note;", &[]),
    ] {
        let named: Vec<&str> = modules_named(source, &modules).into_iter().collect();
        assert_eq!(named, expected, "{source}");
    }
}

#[test]
fn a_crate_is_built_from_below() {
    let mut wrong = Vec::new();
    let crates: BTreeSet<&str> = USERS.iter().map(|(name, _, _)| *name).chain([OWNED.0]).collect();
    for name in crates {
        let folder = root().join("crates").join(name).join("src");
        let inside = |source: &Path| source.strip_prefix(&folder).expect("it is under the folder").to_owned();
        let top = |source: &Path| -> String {
            let path = inside(source);
            let first = path.iter().next().and_then(|part| part.to_str()).expect("it has a name");
            first.strip_suffix(".rs").unwrap_or(first).to_owned()
        };
        let modules: BTreeSet<String> = sources(&folder).iter().map(|source| top(source)).collect();
        for source in sources(&folder) {
            let (path, module) = (inside(&source), top(&source));
            if module == "lib" || (name == OWNED.0 && module != OWNED.1) {
                continue;
            }
            let text = read(&source);
            // Tests of lower modules may use higher ones.
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let code: Vec<&str> =
                code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
            let code = code.join("\n");
            for other in modules_named(&code, &modules) {
                let mut users = USERS.iter().filter(|(of, used, _)| *of == name && *used == other);
                let may = name != OWNED.0 && users.all(|(_, _, users)| users.contains(&module.as_str()));
                if module != other && !may {
                    wrong.push(format!("{name}: {} uses {other}", path.display()));
                }
            }
            let steps = path.iter().filter(|part| *part != "mod.rs").count();
            if code.contains(&"super::".repeat(steps)) {
                wrong.push(format!("{name}: {} names the crate's root by super", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "write crate::, and only of what is below:\n{}", wrong.join("\n"));
}

#[test]
fn the_page_of_policies_has_a_row_for_each() {
    let page = read(&root().join("docs/POLICIES.md"));
    for policy in Policy::ALL {
        assert!(page.contains(&format!("| `{policy}` |")), "docs/POLICIES.md has no row for {policy}");
    }
}

/// Messages of the pure crates appear in several programs; each program adds its own flags.
#[test]
fn no_pure_crate_names_a_flag_of_the_command_line() {
    for name in [
        "firesteel-placement",
        "firesteel-protocol",
        "firesteel-master",
        "firesteel-worker",
        "firesteel-engine",
        "firesteel-application-master",
        "firesteel-sim",
    ] {
        let folder = root().join("crates").join(name).join("src");
        for source in sources(&folder) {
            let path = source.strip_prefix(&folder).expect("it is under the folder");
            // The commands of a session have options of their own.
            let is_language =
                ["session/grammar.rs", "session/saying.rs"].iter().any(|own| path == Path::new(own));
            if is_language || path.iter().any(|part| part == "tests" || part == "tests.rs") {
                continue;
            }
            let text = read(&source);
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let flag = line.match_indices("--").any(|(at, _)| {
                    line[at + 2..].chars().next().is_some_and(|next| next.is_ascii_lowercase())
                });
                // An argument for the executor's command, which no user types.
                let flag = flag && !line.starts_with("pub const DRIVER_FLAG: ");
                assert!(!flag, "{name}: {} names a flag: {}", path.display(), line.trim());
            }
        }
    }
}

#[test]
fn clap_stays_in_the_binary() {
    for (name, _) in FLOORS.iter().filter(|(name, _)| *name != "firesteel") {
        let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
        assert!(!manifest.contains("clap"), "{name} depends on clap");
    }
}

/// Files that write raw bytes to standard output or standard error, each with its reason. All other text goes through
/// `plain.rs`, which removes control characters and bidirectional marks.
const EXACT: [(&str, &str); 12] = [
    ("firesteel-host/src/standard.rs", "the streams themselves"),
    ("firesteel-host/src/plain.rs", "the writers of text"),
    ("firesteel/src/cli/exit.rs", "nothing: it asks whether the stream is open"),
    ("firesteel-apps/src/map/printer.rs", "the output of items"),
    ("firesteel-apps/src/shell/console.rs", "the output of tasks, and text that it cleans"),
    ("firesteel-apps/src/launch/mod.rs", "lines that are clean"),
    ("firesteel/src/cli/attach.rs", "the output of a detached run, as it was written"),
    ("firesteel/src/cli/detach.rs", "the same"),
    ("firesteel/src/cli/logs/print.rs", "the logs of executors"),
    ("firesteel/src/cli/yarn/logs.rs", "the logs of containers"),
    ("firesteel/src/cli/completions.rs", "a script of this program"),
    ("firesteel/src/cli/log.rs", "the log, whose fields it cleans"),
];

/// Whether the code itself writes to a standard stream. Questions about the stream do not count.
fn writes_to_a_terminal(code: &str) -> bool {
    const ASKS: [&str; 5] =
        ["is_terminal()", "let stdout = io::stdout();", "let stderr = io::stderr();", "//", "///"];
    let is_writer = |line: &str| {
        ["println!", "print!", "io::stdout", "io::stderr", "standard::stdout", "standard::stderr"]
            .iter()
            .any(|writer| line.contains(writer))
            && !ASKS.iter().any(|ask| line.contains(ask))
    };
    code.lines().any(is_writer)
}

#[test]
fn text_reaches_a_terminal_through_the_one_writer() {
    let mut found = BTreeSet::new();
    for (name, _) in FLOORS.iter().filter(|(name, _)| *name != TESTKIT) {
        for source in sources(&root().join("crates").join(name).join("src")) {
            let path = source.strip_prefix(root().join("crates")).expect("it is under the folder");
            let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
            let text = read(&source);
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            if !is_test && writes_to_a_terminal(code) {
                found.insert(path.display().to_string());
            }
        }
    }
    assert_eq!(found, EXACT.iter().map(|(file, _)| (*file).to_owned()).collect());
}
