//! Tests of expressions: their values, and the errors of texts that are not expressions.

use super::*;
use crate::index::Index;
use crate::policy::{Candidate, Measure, fill};
use crate::{Cores, ExecutorSize, MiB, Resources, WorkerOrder};

fn read(text: &str) -> Expression {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn resources(words: &[(&str, &[&str])]) -> Resources {
    Resources::of_words(words.iter().map(|(name, words)| (*name, words.iter()))).expect("they differ")
}

fn demand(cores: i64, asked: &[(&str, &str)]) -> Demand {
    let amount = |text: &str| text.parse().expect("it is an amount");
    Demand {
        size: ExecutorSize::Fixed(Cores(cores)),
        memory: MiB(1024),
        resources: asked.iter().map(|(name, text)| ((*name).to_owned(), amount(text))).collect(),
        ..Demand::default()
    }
}

/// The value for an executor of 2 cores, 1 GiB and 0.25 gpu. The Worker has 6 of 8 cores, 4 of 16 GiB and 1.75 of 3
/// gpus free, in a cluster of two equal Workers. The placement has already put `before` executors on it.
fn value(text: &str, before: u64) -> String {
    let all = resources(&[("gpu:A100", &["0", "1"]), ("gpu:T4", &["2"])]);
    let free = resources(&[("gpu:A100", &["0@0.25", "1@0.5"]), ("gpu:T4", &["2"])]);
    let whole = Offer { worker: "w", cores: Cores(8), memory: MiB(16_384), resources: &all };
    let offer = Offer { cores: Cores(6), memory: MiB(4096), resources: &free, ..whole };
    let mut cluster = ClusterTotal::default();
    (0..2).for_each(|_| cluster.add(&whole));
    let mut index = Index::new(WorkerOrder::WorkerId);
    let slot = index.insert("w", offer.cores, offer.memory, offer.resources);
    let expression = read(text);
    let formula = Formula { expression: &expression, whole: &|_| Some(whole) };
    formula.value(&demand(2, &[("gpu", "0.25")]), &cluster, (slot, &offer), before).to_string()
}

#[test]
fn fields_have_the_units_that_are_said() {
    for (text, expected) in [
        ("free.cores", "6"),
        ("left.cores", "4"),
        ("asked.cores", "2"),
        ("total.cores", "8"),
        ("cluster.cores", "16"),
        ("free.memory", "4096"),
        ("left.memory", "3072"),
        ("asked.memory", "1024"),
        ("total.memory", "16384"),
        ("cluster.memory", "32768"),
        ("free.gpu", "1.75"),
        ("left.gpu", "1.5"),
        ("asked.gpu", "0.25"),
        ("total.gpu", "3"),
        ("cluster.gpu", "6"),
        ("free.gpu.whole", "1"),
        ("free.gpu.largest", "1"),
        ("free.gpu:A100.whole", "0"),
        ("free.gpu:A100.largest", "0.5"),
        ("free.gpu:A100", "0.75"),
        ("left.gpu:A100", "0.5"),
        ("left.\"gpu:T4\"", "1"),
        ("asked.gpu:A100", "0"),
        ("total.gpu:T4", "1"),
        ("free.fpga + left.fpga.whole + total.fpga + cluster.fpga", "0"),
        ("free.\"cores\"", "0"),
        ("placed", "0"),
    ] {
        assert_eq!(value(text, 0), expected, "{text}");
    }
}

#[test]
fn executors_of_the_placement_count() {
    for (text, expected) in [
        ("placed", "2"),
        ("free.cores", "2"),
        ("left.cores", "0"),
        ("free.memory", "2048"),
        ("left.memory", "1024"),
        // The first two executors took 0.25 each, from the fullest address with enough free.
        ("free.gpu", "1.25"),
        ("free.gpu:A100", "0.25"),
        ("left.gpu:A100", "0"),
        ("left.gpu.whole", "1"),
    ] {
        assert_eq!(value(text, 2), expected, "{text}");
    }
}

#[test]
fn operators_bind_as_in_mathematics() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("12 / 2 / 3", "2"),
        ("2 * 7 % 4", "2"),
        ("-2 * 3 - -1", "-5"),
        ("1 / 3", "0.333333333"),
        ("7 / 0 + 7 % 0", "0"),
        ("1 + 1 < 3", "1"),
        ("2 < 1 or 2 >= 2 and 1 != 1", "0"),
        ("(2 < 1 or 2 >= 2) and 1 == 1", "1"),
        ("not 1 > 2", "1"),
        ("not not 0.5", "1"),
        ("(1 < 2) < 3", "1"),
        ("min(3, 2, 5) + max(3) + abs(-1.5) + floor(-1.5)", "4.5"),
        ("if(asked.gpu > 0, min(1, 2), 1 / 0)", "1"),
        ("if(0.000000001, 1, 2)", "1"),
        ("1000000000000000000000 * 1000000000000000000000", "170141183460469231731687303715.884105727"),
    ] {
        assert_eq!(value(text, 0), expected, "{text}");
    }
}

#[test]
fn errors_say_where_what_and_what_instead() {
    let deep = "(".repeat(33) + "1";
    let open = "1+(".repeat(20) + "max(1, " + &"2-(".repeat(12);
    let long = "1+".repeat(1000) + "1";
    for (text, expected) in [
        (
            "",
            "at character 1 of the expression: found the end, expected a number, a field such as left.cores, a function, - or (",
        ),
        (
            "left.cores +",
            "at character 13 of the expression: found the end, expected a number, a field such as left.cores, a function, - or (",
        ),
        (
            "left.cores left.memory",
            "at character 12 of the expression: found \"left.memory\", expected an operator or the end",
        ),
        ("(1 + 2", "at character 7 of the expression: found the end, expected an operator or )"),
        (
            "1 + and",
            "at character 5 of the expression: found \"and\", expected a number, a field such as left.cores, a function, - or (",
        ),
        ("min 1", "at character 5 of the expression: found 1, expected ( after the name of a function"),
        (
            "max(1, 2; 3)",
            "at character 9 of the expression: ';' means nothing here: use numbers, names, ( ) , + - * / % < <= > >= == != and or not",
        ),
        (
            "left.cores = 1",
            "at character 12 of the expression: '=' means nothing here: use numbers, names, ( ) , + - * / % < <= > >= == != and or not",
        ),
        (
            "lef.cores",
            "at character 1 of the expression: \"lef.cores\" is neither a field nor a function: did you mean left?",
        ),
        (
            "mni(1, 2)",
            "at character 1 of the expression: \"mni\" is neither a field nor a function: did you mean min?",
        ),
        (
            "gpus",
            "at character 1 of the expression: \"gpus\" is neither a field nor a function: a field begins with free, left, asked, total or cluster",
        ),
        (
            "\"left\".cores",
            "at character 1 of the expression: \"\\\"left\\\".cores\" is neither a field nor a function: a field begins with free, left, asked, total or cluster",
        ),
        (
            "1 + left",
            "at character 5 of the expression: found \"left\" alone, expected a resource after it: free.cores, free.memory, free.gpu",
        ),
        (
            "left.",
            "at character 6 of the expression: found a point without a name after it, expected the name of a resource",
        ),
        (
            "left.core",
            "at character 6 of the expression: \"core\" looks like cores: write cores, or \"core\" in quotes for a custom resource",
        ),
        (
            "left.mem",
            "at character 6 of the expression: \"mem\" looks like memory: write memory, or \"mem\" in quotes for a custom resource",
        ),
        (
            "left.cores.whole",
            "at character 12 of the expression: found \"whole\" after \"left.cores\", expected the end of the name",
        ),
        (
            "left.gpu.hole",
            "at character 10 of the expression: \"left.gpu\" has no \"hole\": did you mean whole?",
        ),
        (
            "left.gpu.parts",
            "at character 10 of the expression: \"left.gpu\" has no \"parts\": write whole or largest, or leave it out",
        ),
        (
            "asked.gpu.whole",
            "at character 11 of the expression: found \"whole\" after \"asked.gpu\", expected the end of the name",
        ),
        (
            "placed.gpu",
            "at character 8 of the expression: found \"gpu\" after \"placed\", expected the end of the name",
        ),
        (
            "cluster.gpu:A100",
            "at character 9 of the expression: found \"gpu:A100\", expected a resource without a kind, since cluster counts all kinds together",
        ),
        ("left.\"gpu", "at character 6 of the expression: the name in quotes has no end: add a \""),
        (
            "1.5.2",
            "at character 1 of the expression: \"1.5.2\" is not a number here: write digits, and a point between digits: 12, 0.25",
        ),
        (
            "8g",
            "at character 1 of the expression: \"8g\" is not a number here: write digits, and a point between digits: 12, 0.25",
        ),
        (
            "0.1234567891",
            "at character 1 of the expression: \"0.1234567891\" is not a number here: write at most nine digits after the point",
        ),
        (
            "1000000000000000000000000000000",
            "at character 1 of the expression: \"1000000000000000000000000000000\" is not a number here: write less than 10^29",
        ),
        ("1 < 2 < 3", "at character 7 of the expression: a comparison has two sides: write a < b and b < c"),
        (
            "if(1, 2)",
            "at character 1 of the expression: if takes three values: a condition, and what to take if it holds and if not, and here are 2",
        ),
        ("min()", "at character 1 of the expression: min takes at least one value, and here are 0"),
        ("abs(1, 2)", "at character 1 of the expression: abs takes one value, and here are 2"),
        (
            &deep,
            "at character 33 of the expression: the expression is nested too deeply: have at most 32 levels and open values",
        ),
        (
            &open,
            "at character 101 of the expression: the expression is nested too deeply: have at most 32 levels and open values",
        ),
        (
            &long,
            "at character 2001 of the expression: the expression is too long: write at most 2000 characters",
        ),
    ] {
        let error = text.parse::<Expression>().expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn the_least_value_wins_and_ties_are_best_fits() {
    let workers = [("a", 8), ("b", 6), ("c", 12)];
    let offer = |(worker, cores): (&'static str, i64)| Offer {
        worker,
        cores: Cores(cores),
        memory: MiB(65_536),
        resources: Resources::NONE,
    };
    let (mut index, mut cluster) = (Index::new(WorkerOrder::WorkerId), ClusterTotal::default());
    let candidates = workers.map(offer).map(|offer| {
        cluster.add(&offer);
        let slot = index.insert(offer.worker, offer.cores, offer.memory, offer.resources);
        Candidate { slot, offer, host: offer.worker, rank: () }
    });
    let chosen = |text: &str| {
        let expression = read(text);
        let whole = |slot: Slot| workers.get(slot.index()).map(|worker| offer(*worker));
        let measure = Measure::Expression(Formula { expression: &expression, whole: &whole });
        let one = Demand { cores_left: Cores(4), ..demand(4, &[]) };
        workers[fill(measure, &one, candidates, &cluster)[0].slot.index()].0
    };
    assert_eq!(
        [chosen("1"), chosen("left.cores"), chosen("-left.cores"), chosen("abs(total.cores - 8)")],
        ["b", "b", "c", "a"]
    );
}
