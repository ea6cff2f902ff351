//! Makes a trace from a seed. Its requests and run times are distributed like those of a real cluster.
//!
//! Requests have [`SHAPES`] different shapes. One shape makes up a fifth of all requests. Each shape has a number of
//! cores and an amount of memory per core. Shapes swap their memory per core until cores, memory and memory per core
//! match the [`quantiles`]. Run times are spread evenly over all quantiles, including the last hundredth, which makes
//! up nearly all of the mean.
//!
//! In the real trace each application has one executor. Here each application has 1 to [`MOST_EXECUTORS`] executors
//! (Pareto's law). Three of four applications with several executors are gangs. Applications arrive over a week, more
//! by day than by night.
//!
//! The Workers are those of the real cluster in number and size: 27 kinds, of which two make up 61 %.

use std::f64::consts::TAU;
use std::time::Duration;

use firesteel_placement::{Amount, Cores, MiB};

use super::quantiles::{self, Figure, Quantiles, distance, value};
use super::{ModelNames, Models, Request, Trace, TraceApplication, WorkerKind};
use crate::dice::Dice;

/// The seed of the committed trace.
pub const SEED: u64 = 20_261_121;
/// Number of applications of the committed trace.
pub const APPLICATIONS: u64 = 4_000;
/// Number of different requests.
pub const SHAPES: usize = 112;
pub const MOST_EXECUTORS: u64 = 64;

/// Maximum number of cores of an application: about a tenth of a cluster of 200 Workers.
const MOST_CORES: u64 = 1_024;
/// The exponent of Pareto's law for the number of executors. A smaller exponent makes more large applications.
const SKEW: f64 = 1.1;
const WEEK: f64 = 7.0 * 86_400.0;
/// The longest run time in seconds: about five months.
const LONGEST: f64 = 12_500_000.0;
/// The largest accepted distance of the shapes from each table.
const NEAR: f64 = 0.02;

/// The kinds of Workers, each with its count, cores, GiB and GPUs.
const KINDS: [(u64, i64, i64, u64); 27] = [
    (550, 96, 384, 8),
    (380, 104, 512, 2),
    (133, 32, 256, 0),
    (100, 16, 128, 2),
    (60, 96, 512, 0),
    (40, 128, 768, 8),
    (30, 96, 384, 0),
    (30, 32, 128, 4),
    (25, 32, 128, 0),
    (22, 64, 256, 2),
    (22, 64, 512, 0),
    (20, 96, 768, 8),
    (20, 104, 512, 0),
    (20, 8, 32, 1),
    (16, 96, 384, 4),
    (10, 32, 64, 0),
    (10, 48, 384, 4),
    (8, 64, 256, 0),
    (8, 64, 256, 8),
    (4, 64, 128, 0),
    (3, 104, 768, 0),
    (3, 8, 64, 1),
    (3, 8, 64, 2),
    (3, 128, 1024, 1),
    (1, 80, 320, 8),
    (1, 104, 192, 0),
    (1, 96, 768, 0),
];

#[must_use]
pub fn trace(seed: u64, applications: u64) -> Trace {
    let mut dice = Dice::new(seed);
    let shapes = shapes(&mut dice);
    let mut requests: Vec<Request> = spread(&shapes, applications).collect();
    dice.shuffle(&mut requests);
    let mut lifetimes: Vec<f64> = (0..applications)
        .map(|n| value(quantiles::LIFETIME, (n as f64 + dice.part()) / applications as f64, LONGEST))
        .collect();
    dice.shuffle(&mut lifetimes);
    let mut arrivals: Vec<f64> = (0..applications).map(|_| arrival(&mut dice)).collect();
    arrivals.sort_by(f64::total_cmp);

    let each = requests.into_iter().zip(lifetimes).zip(arrivals);
    let applications = each.map(|((request, lifetime), arrival)| {
        let executors = executors(&mut dice, &request);
        let is_gang = executors > 1 && !dice.one_in(4);
        TraceApplication {
            arrival: Duration::from_secs(arrival as u64),
            executors,
            request,
            lifetime: Duration::from_secs(lifetime.round() as u64),
            gang: if is_gang { executors } else { 1 },
            ..TraceApplication::default()
        }
    });
    Trace::of(KINDS.into_iter().map(kind).collect(), applications.collect(), ModelNames::default())
}

fn kind((count, cores, gib, gpus): (u64, i64, i64, u64)) -> WorkerKind {
    let model = if gpus == 0 { format!("c{cores}m{gib}") } else { format!("c{cores}m{gib}g{gpus}") };
    WorkerKind { count, cores: Cores(cores), memory: MiB(gib * 1024), gpus, model }
}

/// A random arrival time. At noon, four times as many applications arrive as at midnight.
fn arrival(dice: &mut Dice) -> f64 {
    loop {
        let time = dice.part() * WEEK;
        if dice.part() < (1.0 - 0.6 * (TAU * time / 86_400.0).cos()) / 1.6 {
            return time;
        }
    }
}

/// A random number of executors by Pareto's law, limited for large requests.
fn executors(dice: &mut Dice, request: &Request) -> u64 {
    let most = (MOST_CORES * 1000 / request.milli_cores)
        .clamp(1, if request.gpus.addresses() > 1 { 4 } else { MOST_EXECUTORS });
    ((1.0 - dice.part()).powf(-1.0 / SKEW) as u64).min(most)
}

/// This number of requests (`all`). Each shape occurs as often as its weight demands.
fn spread(shapes: &[(Request, f64)], all: u64) -> impl Iterator<Item = Request> {
    let (mut shape, mut upto) = (0, shapes[0].1);
    (0..all).map(move |n| {
        while (n as f64 + 0.5) / all as f64 > upto && shape + 1 < shapes.len() {
            shape += 1;
            upto += shapes[shape].1;
        }
        shapes[shape].0
    })
}

/// The shapes with their weights, which add up to 1.
fn shapes(dice: &mut Dice) -> Vec<(Request, f64)> {
    let weights = weights();
    let mut cores: Vec<usize> = (1..SHAPES).collect();
    dice.shuffle(&mut cores);
    let mut ratios = cores.clone();
    dice.shuffle(&mut ratios);
    let drawn = |ratios: &[usize]| {
        let cores = scale(&cores, &weights, quantiles::CORES, 120.0);
        let ratios = scale(ratios, &weights, quantiles::GIB_PER_CORE, 10.0);
        let request = |shape: usize| Request {
            milli_cores: (cores[shape] * 10.0).round() as u64 * 100,
            memory: MiB(((cores[shape] * ratios[shape]).min(720.0) * 4.0).round() as i64 * 256),
            gpus: Amount::Whole(1),
            models: Models::ANY,
        };
        (0..SHAPES).map(|shape| (request(shape), weights[shape])).collect::<Vec<_>>()
    };
    let mut found = drawn(&ratios);
    let mut far = greatest_distance(&found);
    while far > NEAR {
        let (one, other) = (dice.index(SHAPES - 1), dice.index(SHAPES - 1));
        let (one, other) = (one.expect("there are shapes"), other.expect("there are shapes"));
        ratios.swap(one, other);
        let next = drawn(&ratios);
        let next_far = greatest_distance(&next);
        if next_far <= far {
            (found, far) = (next, next_far);
        } else {
            ratios.swap(one, other);
        }
    }
    give_gpus(&mut found, dice);
    found
}

/// The weights of the shapes. The first weight is a fifth. The other weights descend.
fn weights() -> Vec<f64> {
    let others: Vec<f64> = (1..SHAPES).map(|shape| 1.0 / (shape as f64 + 8.0)).collect();
    let all: f64 = others.iter().sum();
    std::iter::once(0.2).chain(others.into_iter().map(|weight| 0.8 * weight / all)).collect()
}

/// The values of the shapes. In this order, each shape covers a range of the table's shares that is as wide as the
/// shape's weight. The first shape covers the range from 5 % to 25 %, where many values of the table are nearly equal.
fn scale(order: &[usize], weights: &[f64], table: Quantiles, most: f64) -> Vec<f64> {
    let mut values = vec![0.0; SHAPES];
    values[0] = value(table, 0.15, most);
    let (mut upto, mut is_past) = (0.0, false);
    for &shape in order {
        if !is_past && upto + weights[shape] / 2.0 > 0.05 {
            (upto, is_past) = (upto + weights[0], true);
        }
        values[shape] = value(table, upto + weights[shape] / 2.0, most);
        upto += weights[shape];
    }
    values
}

/// The greatest distance of the shapes from any table.
fn greatest_distance(shapes: &[(Request, f64)]) -> f64 {
    let application =
        |request| TraceApplication { executors: 1, request, gang: 1, ..TraceApplication::default() };
    let off = |figure: &Figure| {
        let of = |&(request, weight): &(Request, f64)| ((figure.of)(&application(request)), weight);
        distance(shapes.iter().map(of), figure.table)
    };
    // The last figure is the run time.
    quantiles::FIGURES[..3].iter().map(off).fold(0.0, f64::max)
}

/// Gives several GPUs to the shapes with the most cores, no GPU to random other shapes until the shares match, and one
/// GPU to the rest. In the real cluster, four of five requests without a GPU ask for more than twelve cores. Here, all
/// of them do.
fn give_gpus(shapes: &mut [(Request, f64)], dice: &mut Dice) {
    let [none, _, several] = quantiles::GPUS;
    let mut order: Vec<usize> = (1..shapes.len()).collect();
    order.sort_by_key(|&shape| std::cmp::Reverse(shapes[shape].0.milli_cores));
    let (mut left, mut amounts) = (several, [8, 8, 4, 2].into_iter().cycle());
    order.retain(|&shape| {
        let (request, weight) = &mut shapes[shape];
        let takes = *weight <= left * 1.2;
        if takes {
            left -= *weight;
            request.gpus = Amount::Whole(amounts.next().expect("it never ends"));
        }
        !takes
    });
    dice.shuffle(&mut order);
    let mut left = none;
    for shape in order {
        let (request, weight) = &mut shapes[shape];
        if request.milli_cores > 12_000 && *weight <= left * 1.2 {
            left -= *weight;
            request.gpus = Amount::NONE;
        }
    }
}
