//! Drafts of clusters: what is read, what is refused with which message, and that a real Master decides.

mod draft_of_master;
mod plan;

use firesteel_master::Config;
use firesteel_placement::{Cores, MiB, Quantity};
use firesteel_sim::draft::{Draft, Metrics, Since};
use firesteel_sim::setup::Setup;

use crate::fixtures;

#[expect(clippy::disallowed_methods, reason = "tests read fixtures")]
fn example() -> Draft {
    let text = std::fs::read_to_string(fixtures::path("plan/cluster.toml")).expect("the fixture is there");
    Draft::from_toml(&text).expect("the fixture can be read")
}

const WORKER: &str = "[[workers]]\nname = \"w\"\ncores = 8\nmemory = \"16g\"\n";

#[test]
fn what_is_wrong_with_a_file_is_one_line_with_line_and_field() {
    for (text, expected) in [
        ("", "line 1: workers: the file has no Workers: add [[workers]] with cores and memory"),
        ("[[workers]]\ncores = 8\n", "line 1: workers[0]: missing field `memory`"),
        (
            "[[workers]]\ncores = 8\nmemory = \"64q\"\n",
            "line 3: workers[0].memory: invalid value: string \"64q\", expected an amount of memory, at least 1 MiB, \
             such as \"64g\" or \"512m\"",
        ),
        (
            "[[workers]]\ncores = \"8\"\nmemory = 64\n",
            "line 2: workers[0].cores: invalid type: string \"8\", expected a whole number from 1 to 2147483647",
        ),
        (
            "[[workers]]\n\ncores = 0\nmemory = 64\n",
            "line 3: workers[0].cores: invalid value: integer `0`, expected a whole number from 1 to 2147483647",
        ),
        (
            &format!("{WORKER}gpus = 4\n"),
            "line 5: workers[0].gpus: unknown field `gpus`, expected one of `name`, `host`, `count`, `cores`, `memory`, \
             `resources`",
        ),
        (
            &format!("{WORKER}{WORKER}"),
            "line 5: workers[1].name: two entries have the name \"w\": give each its own name, or write one entry with a count",
        ),
        (
            "[[workers]]\nname = \"\"\ncores = 8\nmemory = 64\n",
            "line 1: workers[0].name: a name must have 1 to 200 bytes, but this one has 0",
        ),
        (
            &format!("{WORKER}count = 10000\nresources = {{ gpu = 1000 }}\n"),
            "line 1: workers[0].resources: too many addresses of Workers: 10000000, but at most 2000000 can be planned",
        ),
        (
            &format!("{WORKER}count = 100001\n"),
            "line 1: workers[0].count: too many Workers: 100001, but at most 100000 can be planned",
        ),
        (
            &format!("{WORKER}[[applications]]\nexecutor-cores = 2\nrunning = [{{ worker = \"v\" }}]\n"),
            "line 7: applications[0].running[0].worker: unknown Worker \"v\": the first Worker is \"w\"",
        ),
        (
            &format!(
                "{WORKER}[[applications]]\nexecutor-cores = 3\nrunning = [{{ worker = \"w\", executors = 3 }}]\n"
            ),
            "line 7: applications[0].running[0]: w has no room for these executors: lower executors, or give the Worker \
             more cores, memory or resources",
        ),
        (
            &format!("{WORKER}[[applications]]\nrunning = [{{ worker = \"w\" }}]\n"),
            "line 6: applications[0].running[0]: the number of cores of these executors is unknown: add cores = 4, \
             or executor-cores to the application",
        ),
        (
            &format!("queues = \"prod=0\"\n{WORKER}"),
            "line 1: queues: \"prod=0\" is not a queue: write NAME=WEIGHT, with a weight from 1 to 1000000",
        ),
        (
            &format!("queues = \"prod=3,dev=1\"\n{WORKER}[[applications]]\nqueue = \"test\"\n"),
            "line 6: applications[0].queue: there is no queue \"test\": this Master has prod, dev",
        ),
        (
            &format!("{WORKER}[[applications]]\ngang = 3\n"),
            "line 5: applications[0].gang: a gang needs executors of a fixed size: add executor-cores",
        ),
        (
            &format!("{WORKER}[[applications]]\ngang = 3\nexecutor-cores = 2\nmax-cores = 5\n"),
            "line 5: applications[0].gang: the gang has 3 executors, but the application asks for 2: lower gang",
        ),
    ] {
        let error = Draft::from_toml(text).expect_err(text).to_string();
        assert_eq!(error, expected, "{text}");
    }
    // The parser's own message for text that is not TOML.
    let error = Draft::from_toml("[[workers]]\ncores = \n").expect_err("no TOML").to_string();
    assert!(error.starts_with("line 2: ") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_real_master_decides_over_a_draft_and_leaves_what_runs_where_it_is() {
    let draft = example();
    for setup in Setup::ALL {
        let outcome = draft.decide(setup.config(Config::default())).expect("the draft is sound");
        let metrics = Metrics::of(&outcome);
        let mut used = Cores::ZERO;
        for worker in &outcome.workers {
            let mut free = (worker.cores, worker.memory, worker.resources.clone());
            for executor in &worker.executors {
                free.0 -= executor.cores;
                free.1 -= executor.memory;
                for (name, count) in &executor.resources {
                    let left = free.2.get_mut(name).expect("the Worker has some");
                    *left = left.less(*count);
                }
            }
            assert!(free.0 >= Cores::ZERO && free.1 >= MiB::ZERO, "{setup}: {}", worker.id);
            let rest = (worker.cores_free, worker.memory_free, worker.resources_free.clone());
            assert_eq!(free, rest, "{setup}: {}", worker.id);
            used += worker.cores - worker.cores_free;
        }
        assert_eq!(metrics.cores_used, used, "{setup}");
        let stream = &outcome.applications[0];
        assert_eq!((stream.kept, stream.given, stream.taken), (3, 0, 0), "{setup}");
        let before = outcome.before(&draft);
        for (before, now) in before.iter().zip(&outcome.workers) {
            let kept = now.executors.iter().filter(|executor| executor.since == Since::Before);
            assert!(before.executors.iter().eq(kept), "{setup}: {}", now.id);
        }
    }
}

#[test]
fn workers_without_names_are_numbered_through() {
    let entry = |count| format!("[[workers]]\ncount = {count}\ncores = 1\nmemory = \"1g\"\n");
    let draft = Draft::from_toml(&[entry(2), entry(9)].concat()).expect("it is sound");
    let names: Vec<&str> = draft.workers.iter().map(|worker| worker.id.as_str()).collect();
    assert_eq!((names[0], names[2], names[10], names.len()), ("worker-01", "worker-03", "worker-11", 11));
}

#[test]
fn queues_priorities_and_gangs_are_decided_as_a_master_decides_them() {
    let text = "queues = \"prod=3,dev=1\"\n[[workers]]\ncores = 8\nmemory = \"16g\"\n\
                [[applications]]\nname = \"dev\"\nexecutor-cores = 1\nqueue = \"dev\"\n\
                [[applications]]\nname = \"prod\"\nexecutor-cores = 1\nqueue = \"prod\"\n";
    let given = |text: &str| {
        let draft = Draft::from_toml(text).expect("it is sound");
        let outcome = draft.decide(Config::default()).expect("the draft is sound");
        outcome.applications.iter().map(|app| app.given).collect::<Vec<_>>()
    };
    assert_eq!(given(text), [2, 6]);
    let text = "[[workers]]\ncores = 8\nmemory = \"16g\"\n\
                [[applications]]\nexecutor-cores = 2\nexecutor-memory = \"4g\"\ngang = 5\n\
                [[applications]]\nexecutor-cores = 2\nnum-executors = 1\n\
                [[applications]]\nexecutor-cores = 2\nmax-cores = 6\npriority = 1\n";
    assert_eq!(given(text), [0, 1, 3], "the gang is too large, and the last one comes first");
}

/// An application waits if it has less than its own limits allow. Free capacity is stranded if waiting applications
/// request it and have no room for an executor on its Worker.
#[test]
fn capacity_is_stranded_only_if_a_waiting_application_asks_for_it_and_cannot_use_it() {
    const SMALL: &str = "[[workers]]\ncores = 8\nmemory = \"4g\"\nresources = { gpu = 1 }\n";
    const LARGE: &str = "[[workers]]\ncores = 8\nmemory = \"16g\"\n";
    let app =
        |more: &str| format!("[[applications]]\nexecutor-cores = 2\nexecutor-memory = \"4g\"\n{more}\n");
    let gpu = "resources = { gpu = 1 }\nnum-executors = 2";
    for (what, text, short, waiting, cores, gpus) in [
        ("all have what they ask for", [SMALL, LARGE, &app("num-executors = 2")].concat(), 0, 0, 0, 0),
        (
            "memory is used up, and nobody asks for gpus",
            [SMALL, &app("num-executors = 2")].concat(),
            1,
            0,
            6,
            0,
        ),
        (
            "two cores are too few for it",
            [LARGE, &app("num-executors = 4").replace("= 2", "= 3")].concat(),
            1,
            0,
            2,
            0,
        ),
        ("no Worker has a free gpu", [SMALL, LARGE, &app(gpu)].concat(), 1, 0, 14, 0),
        (
            "another has the memory beside the gpu",
            [SMALL, &app("num-executors = 1"), &app(gpu)].concat(),
            1,
            1,
            6,
            1,
        ),
        ("nobody asks", [SMALL, LARGE].concat(), 0, 0, 0, 0),
        ("it asks for none", [SMALL, LARGE, &app("num-executors = 0")].concat(), 0, 0, 0, 0),
        (
            "a gang that waits has room for one of it",
            [LARGE, &app("gang = 5\nnum-executors = 5")].concat(),
            1,
            1,
            0,
            0,
        ),
    ] {
        let outcome = Draft::from_toml(&text).expect(what).decide(Config::default()).expect(what);
        let metrics = Metrics::of(&outcome);
        let gpu = metrics.resources_stranded.get("gpu").copied().unwrap_or_default();
        assert_eq!((metrics.short, metrics.waiting), (short, waiting), "{what}");
        assert_eq!((metrics.cores_stranded, gpu), (Cores(cores), Quantity::whole(gpus)), "{what}");
    }
}

/// Cores that the application's own limits exclude are not requested.
#[test]
fn an_application_that_has_all_that_its_own_bounds_allow_is_not_short() {
    const WORKERS: &str = "[[workers]]\ncount = 5\ncores = 64\nmemory = \"256g\"\n[[applications]]\n";
    for (bounds, executors, is_short) in [
        ("max-cores = 200\nexecutor-cores = 7", 28, false),
        ("max-cores = 24\nexecutor-cores = 6\nnum-executors = 3", 3, false),
        ("max-cores = 16\nexecutor-cores = 4\nnum-executors = 5", 4, false),
        ("max-cores = 4\nexecutor-cores = 8", 0, true),
        ("max-cores = 400\nexecutor-cores = 8", 40, true),
        ("max-cores = 200\nnum-executors = 2", 2, true),
        ("max-cores = 100\nnum-executors = 2", 2, false),
    ] {
        let draft = Draft::from_toml(&format!("{WORKERS}{bounds}\n")).expect(bounds);
        let outcome = draft.decide(Config::default()).expect(bounds);
        let app = &outcome.applications[0];
        assert_eq!((app.executors(), app.is_short()), (executors, is_short), "{bounds}");
    }
}

#[test]
fn a_draft_of_ten_thousand_workers_is_decided() {
    let text = "[[workers]]\ncount = 10000\ncores = 64\nmemory = \"256g\"\n\
                [[applications]]\nexecutor-cores = 7\nexecutor-memory = \"20g\"\nnum-executors = 25000\n";
    let draft = Draft::from_toml(text).expect("it is sound");
    let outcome = draft.decide(Config::default()).expect("the draft is sound");
    assert_eq!((outcome.applications[0].given, outcome.workers.len()), (25_000, 10_000));
}

/// `a` and `b` request everything. The third has a higher priority and starts with five executors at once: they have no
/// room beside the running ones.
#[test]
fn queues_priorities_and_gangs_of_a_file_are_those_of_a_master() {
    let file = |queues: &str, of_b: &str| {
        let app = |name: &str, more: &str| {
            format!("[[applications]]\nname = \"{name}\"\nexecutor-cores = 2\n{more}\n")
        };
        let running = "max-cores = 2\nrunning = [{ worker = \"w\" }]";
        let gang = "gang = 4\nmax-cores = 8\npriority = 1";
        format!(
            "{queues}{WORKER}{}{}{}{}",
            app("r", running),
            app("a", "max-cores = 4"),
            app("b", of_b),
            app("g", gang)
        )
    };
    let given = |text: &str| {
        let draft = Draft::from_toml(text).expect("it can be read");
        let outcome = draft.decide(Config::default()).expect("it is sound");
        let hindered = |app: &firesteel_sim::draft::ApplicationOutcome| {
            let scheduling = app.detail.as_ref().and_then(|detail| detail.scheduling.as_ref());
            scheduling.and_then(|scheduling| scheduling.blocker.as_ref()).map(ToString::to_string)
        };
        let counts: Vec<u64> = outcome.applications.iter().map(|app| app.given).collect();
        (counts, hindered(&outcome.applications[3]))
    };
    // The Worker has room for three executors, and is reserved for the four: later applications get nothing.
    let (counts, blocker) = given(&file("", "max-cores = 4"));
    assert_eq!(counts, [0, 0, 0, 0]);
    let blocker = blocker.expect("it waits for all at once");
    assert!(blocker.starts_with("it needs 4 executors together, but there is room for 3"), "{blocker}");
    // In another queue, b gets its share before the gang's turn.
    let (counts, _) = given(&file("queues = \"main=1,other=1\"\n", "max-cores = 4\nqueue = \"other\""));
    assert_eq!(counts[2], 1, "{counts:?}");
}
