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

/// The map names a module by its file, `settle.rs`, or by its folder, `master/`. Modules of tests need no place on it.
#[test]
fn the_architecture_names_every_module() {
    let map = read(&root().join("docs/ARCHITECTURE.md"));
    let mut missing = Vec::new();
    for name in [
        "firesteel-placement",
        "firesteel-core",
        "firesteel-sim",
        "firesteel-world",
        "firesteel-yarn",
        "firesteel",
    ] {
        let folder = root().join("crates").join(name).join("src");
        for source in sources(&folder) {
            let path = source.strip_prefix(&folder).expect("it is under the folder").display().to_string();
            let module = path.strip_suffix("mod.rs").unwrap_or(&path);
            if path.split('/').any(|part| part == "tests" || part == "tests.rs") {
                continue;
            }
            let part = module.rsplit('/').find(|part| !part.is_empty()).expect("a file has a name");
            let named = format!("`{part}{}`", if module.ends_with('/') { "/" } else { "" });
            if !map.contains(&named) && part != "lib.rs" && part != "main.rs" {
                missing.push(format!("{name}: {module} (as {named})"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md does not name:\n{}", missing.join("\n"));
}

#[test]
fn the_pure_crates_ban_the_same_things_and_have_no_runtime() {
    let crates = root().join("crates");
    let bans = read(&crates.join("firesteel-placement/clippy.toml"));
    for name in ["firesteel-placement", "firesteel-core", "firesteel-sim", "firesteel-world"] {
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
    let folder = root().join("crates/firesteel/src");
    for source in sources(&folder) {
        let path = source.strip_prefix(&folder).expect("it is under the folder");
        if !path.starts_with("cli") && path != Path::new("main.rs") {
            assert!(!read(&source).contains("clap::"), "{} uses clap", source.display());
        }
    }
}
