//! The house itself: floors, purity, and a map of it that stays true.

use std::path::{Path, PathBuf};

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

/// The crates, lowest floor first, each with the crates of ours that it may depend on.
const FLOORS: &[(&str, &[&str])] = &[
    ("firesteel-placement", &[]),
    ("firesteel-core", &["firesteel-placement"]),
    ("firesteel-sim", &["firesteel-placement", "firesteel-core"]),
    ("firesteel-world", &["firesteel-placement", "firesteel-core", "firesteel-sim"]),
    ("firesteel-yarn", &[]),
    ("firesteel-host", &["firesteel-placement", "firesteel-core"]),
    ("firesteel-settings", &["firesteel-placement", "firesteel-core"]),
    ("firesteel-daemons", &["firesteel-placement", "firesteel-core", "firesteel-host", "firesteel-settings"]),
    (
        "firesteel-yarn-mode",
        &[
            "firesteel-placement",
            "firesteel-core",
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
            "firesteel-core",
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
            "firesteel-core",
            "firesteel-sim",
            "firesteel-yarn",
            "firesteel-host",
            "firesteel-settings",
            "firesteel-daemons",
            "firesteel-yarn-mode",
            "firesteel-apps",
        ],
    ),
];

/// The crates that decide: no runtime, no I/O.
const PURE: &[&str] = &["firesteel-placement", "firesteel-core", "firesteel-sim", "firesteel-world"];

/// The crates of ours in a section of a manifest.
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

/// Lists of modules are in the docs of the code (`cargo doc --document-private-items`), where a file's first sentence
/// is its entry. So every file has one.
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

/// Every crate and every folder of modules has a line in the map.
#[test]
fn the_architecture_names_every_crate_and_folder() {
    let map = read(&root().join("docs/ARCHITECTURE.md"));
    let mut missing = Vec::new();
    for (name, _) in FLOORS {
        if !map.contains(&format!("`{name}`")) {
            missing.push((*name).to_owned());
        }
        let folder = root().join("crates").join(name).join("src");
        let mut folders: Vec<PathBuf> = (sources(&folder).iter())
            .filter(|source| source.file_name().is_some_and(|file| file == "mod.rs"))
            .filter_map(|source| source.parent().map(Path::to_owned))
            .collect();
        folders.sort();
        for module in folders.iter().filter(|module| !module.ends_with("tests")) {
            let module = module.file_name().expect("a folder has a name").display();
            if !map.contains(&format!("`{module}/`")) {
                missing.push(format!("{name}: `{module}/`"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md does not name:\n{}", missing.join("\n"));
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

#[test]
fn the_state_machines_do_not_know_each_other() {
    let machines = ["master", "worker", "driver", "executor", "launcher", "allocator"];
    for machine in machines {
        for source in sources(&root().join("crates/firesteel-core/src").join(machine)) {
            let text = read(&source);
            for other in machines.into_iter().filter(|other| *other != machine) {
                let import = format!("crate::{other}::");
                assert!(!text.contains(&import), "{} imports {import}", source.display());
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
