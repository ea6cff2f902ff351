//! The files of a state machine must not import each other in a cycle.
//!
//! A machine's `lib.rs` or `mod.rs` holds the machine itself. It uses its files, which contain its fields' types, and
//! they use it, since they contain its `impl` blocks. So it is left out; a name that it re-exports counts for the file
//! that defines it. Tests are left out, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{read, root, sources};

/// The machines that follow this rule, each the root of its crate.
const MACHINES: &[&str] = &["master", "worker"];

/// The path of a module below its machine, or of a name in one.
type Names = Vec<String>;

/// The modules of a machine by path, each with its code. The empty path is its `mod.rs`.
type Modules = BTreeMap<Names, String>;

#[test]
fn no_files_of_a_machine_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for machine in MACHINES {
        let folder = root().join("crates").join(format!("firesteel-{machine}")).join("src");
        circles.extend(circles_of(machine, &modules(&folder)));
    }
    assert!(circles.is_empty(), "these import each other in a circle:\n{}", circles.join("\n"));
}

/// The modules in the files of a folder, without tests and comments.
fn modules(folder: &Path) -> Modules {
    let mut found = Modules::new();
    for source in sources(folder) {
        let path = source.strip_prefix(folder).expect("it is under the folder").with_extension("");
        let mut names: Names = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if names.iter().any(|name| name == "tests") {
            continue;
        }
        names.pop_if(|last| last == "mod" || last == "lib");
        found.insert(names, code(&read(&source)));
    }
    found
}

/// A source file without comments and its tests.
fn code(source: &str) -> String {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The cycles of a machine: each file in a cycle, with the files of the cycle that it imports.
fn circles_of(machine: &str, modules: &Modules) -> Vec<String> {
    let imports: BTreeMap<&Names, BTreeSet<Names>> =
        modules.keys().filter(|file| !file.is_empty()).map(|file| (file, imports(modules, file))).collect();
    let reached = |from: &Names| {
        let (mut found, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(file) = left.pop() {
            left.extend(imports[file].iter().filter(|next| found.insert((*next).clone())));
        }
        found
    };
    let reached: BTreeMap<&Names, BTreeSet<Names>> =
        imports.keys().map(|file| (*file, reached(file))).collect();
    let mut circles = Vec::new();
    for (file, imports) in imports.iter().filter(|(file, _)| reached[**file].contains(**file)) {
        let back = imports.iter().filter(|next| reached[*next].contains(*file));
        let back: Vec<String> = back.map(|next| next.join("/")).collect();
        circles.push(format!("{machine}/{} imports {}", file.join("/"), back.join(", ")));
    }
    circles
}

/// The files of its machine that a file names in any path, except its machine's `mod.rs` and itself.
fn imports(modules: &Modules, file: &Names) -> BTreeSet<Names> {
    let code = &modules[file];
    let mut named: Vec<Names> = Vec::new();
    named.extend(starts(code, "crate::").flat_map(|at| paths(&code[at + "crate::".len()..])));
    for at in starts(code, "super::") {
        let (mut rest, mut above) = (&code[at..], file.clone());
        let mut is_inside = true;
        while let Some(next) = rest.strip_prefix("super::") {
            is_inside &= above.pop().is_some();
            rest = next;
        }
        let below = |path: Names| above.iter().cloned().chain(path).collect();
        named.extend(paths(rest).into_iter().filter(|_| is_inside).map(below));
    }
    for child in modules.keys().filter(|child| child.split_last().is_some_and(|(_, above)| above == *file)) {
        let name = child.last().expect("it has a parent");
        if starts(code, &format!("{name}::")).next().is_some() {
            named.push(child.clone());
        }
    }
    let mut files: BTreeSet<Names> = named.iter().filter_map(|path| file_of(modules, path, 0)).collect();
    files.retain(|named| !named.is_empty() && named != file);
    files
}

/// The positions at which a path begins with these words.
fn starts<'a>(code: &'a str, words: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(words).map(|(at, _)| at).filter(|at| {
        let before = code[..*at].trim_end_matches("self::").chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != ':')
    })
}

/// The paths in a tree of paths, such as `a::{self, b::C}`, each as a list of names.
fn paths(tree: &str) -> Vec<Names> {
    let Some(group) = tree.strip_prefix('{') else {
        let name: String = tree.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(rest) = tree[name.len()..].strip_prefix("::") else { return vec![vec![name]] };
        let below = paths(rest).into_iter();
        return below.map(|path| [name.clone()].into_iter().chain(path).collect()).collect();
    };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                found.extend(paths(group[start..at].trim()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// The file that defines a path's item. The machine's `mod.rs` is the empty path. `None` if the item is defined
/// elsewhere.
fn file_of(modules: &Modules, path: &[String], depth: usize) -> Option<Names> {
    let mut file = Names::new();
    for (at, name) in path.iter().enumerate() {
        let inner: Names = file.iter().cloned().chain([name.clone()]).collect();
        if modules.contains_key(&inner) {
            file = inner;
        } else {
            // A `mod.rs` may re-export this name from one of its files.
            let exported = exports(&modules[&file]).into_iter().find(|export| export.last() == Some(name));
            let Some(export) = exported.filter(|_| depth < 9) else { return Some(file) };
            let export: Names =
                file.iter().cloned().chain(export).chain(path[at + 1..].iter().cloned()).collect();
            return file_of(modules, &export, depth + 1);
        }
    }
    Some(file)
}

/// The paths that a module imports or exports. Its files can name them as their own.
fn exports(code: &str) -> Vec<Names> {
    let uses = code.match_indices("use ").filter(|(at, _)| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default();
        line.is_empty() || line.starts_with("pub")
    });
    let trees = uses.map(|(at, word)| code[at + word.len()..].trim_start_matches("self::"));
    let inside = |path: &Names| !["crate", "super", "std", "firesteel_protocol"].contains(&path[0].as_str());
    trees.flat_map(paths).filter(inside).collect()
}

#[test]
fn circles_are_seen_in_every_form() {
    let circles = |files: &[(&str, &str)]| -> usize {
        let names = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let modules: Modules = files.iter().map(|(path, text)| (names(path), code(text))).collect();
        circles_of("worker", &modules).len()
    };
    for (expected, files) in [
        (0, &[("", "pub use a::A;"), ("a", "use super::b::B;"), ("b", "use super::Worker;")][..]),
        (2, &[("", ""), ("a", "use super::b::B;"), ("b", "fn f(a: super::a::A) {}")]),
        (2, &[("", "pub use a::{\n    A, Z};"), ("a", "use super::b::B;"), ("b", "use super::{A, Worker};")]),
        (2, &[("", ""), ("a", "use crate::{b::{self, B}, Worker};"), ("b", "use super::a;")]),
        (
            0,
            &[
                ("", ""),
                ("a", "use super::b;"),
                ("b", "// super::a\n#[cfg(test)]\nmod tests {\n use super::super::a;"),
            ],
        ),
        // A folder's `mod.rs`, with the names that it re-exports.
        (0, &[("", ""), ("t", "pub(super) use x::X;"), ("t/x", "use super::y::Y;"), ("t/y", "")]),
        (2, &[("", ""), ("t", "mod x;\nuse x::X;\nstruct T;"), ("t/x", "use super::T;")]),
        (2, &[("", ""), ("t", "pub use x::X;"), ("t/x", "use crate::a::A;"), ("a", "use super::t::X;")]),
        (
            3,
            &[
                ("", ""),
                ("t", "pub use x::X;"),
                ("t/x", "use super::super::a::A;"),
                ("a", "use super::t::Other;"),
            ],
        ),
        (
            3,
            &[
                ("", ""),
                ("a", "use super::b;"),
                ("b", "use super::c;"),
                ("c", "use super::a;"),
                ("d", "use super::a;"),
            ],
        ),
    ] {
        assert_eq!(circles(files), expected, "{files:?}");
    }
}
