//! Distributions of a real cluster's applications, and the distance of a trace from them.
//!
//! The numbers were computed from the GPU trace that Alibaba published in 2023 (1,523 nodes, 8,152 pods).

use super::{Trace, TraceApplication};

/// Pairs of a share and a value. This share of all values is not greater than the value. Both columns ascend.
pub type Quantiles = &'static [(f64, f64)];

pub const CORES: Quantiles =
    &[(0.05, 3.2), (0.25, 4.0), (0.50, 11.3), (0.75, 12.0), (0.90, 16.4), (0.99, 32.0), (1.0, 120.0)];
/// The memory that an application's pod requests, in GiB.
pub const GIB: Quantiles =
    &[(0.05, 5.5), (0.25, 14.9), (0.50, 40.6), (0.75, 48.0), (0.90, 57.0), (0.99, 123.0), (1.0, 720.0)];
/// The memory per core that an application's pod requests, in GiB.
pub const GIB_PER_CORE: Quantiles = &[(0.05, 1.5), (0.25, 1.7), (0.50, 3.7), (0.75, 4.1), (0.95, 6.0)];
/// The run time of applications, in seconds.
pub const LIFETIME: Quantiles =
    &[(0.05, 50.0), (0.25, 175.0), (0.50, 616.0), (0.75, 2_236.0), (0.90, 7_763.0), (0.99, 114_035.0)];
/// The mean run time in seconds. The hundredth of the applications that run longest makes up nearly all of it.
pub const MEAN_LIFETIME: f64 = 28_949.0;
/// The shares of requests for no GPU, for one GPU, and for 2 to 8 GPUs.
pub const GPUS: [f64; 3] = [0.13, 0.86, 0.009];

/// One figure of applications, with its distribution in the real cluster.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub name: &'static str,
    /// The distribution of the figure in the real cluster.
    pub table: Quantiles,
    pub of: fn(&TraceApplication) -> f64,
}

/// The figures that are compared: first those of requests, then the run time.
pub const FIGURES: [Figure; 4] = [
    Figure { name: "cores", table: CORES, of: cores },
    Figure { name: "GiB", table: GIB, of: gib },
    Figure {
        name: "GiB for each core",
        table: GIB_PER_CORE,
        of: |application| gib(application) / cores(application),
    },
    Figure { name: "seconds", table: LIFETIME, of: |application| application.lifetime.as_secs_f64() },
];

fn cores(application: &TraceApplication) -> f64 {
    application.request.milli_cores as f64 / 1000.0
}

fn gib(application: &TraceApplication) -> f64 {
    application.request.memory.0 as f64 / 1024.0
}

/// Kolmogorov's distance between weighted values and a table. For each row of the table, the share of values up to the
/// row's value is compared with the row's share. The greatest difference counts. If many values are equal, the share
/// jumps at this value. Then every share within the jump is accepted.
#[must_use]
pub fn distance(values: impl Iterator<Item = (f64, f64)>, table: Quantiles) -> f64 {
    let values: Vec<_> = values.collect();
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let part = |is_below: &dyn Fn(f64) -> bool| {
        values.iter().filter(|(value, _)| is_below(*value)).map(|(_, weight)| weight).sum::<f64>() / all
    };
    let off = |&(wanted, at): &(f64, f64)| {
        let (below, upto) = (part(&|value| value < at), part(&|value| value <= at));
        (below - wanted).max(wanted - upto).max(0.0)
    };
    table.iter().map(off).fold(0.0, f64::max)
}

/// The distance of a trace's applications from the real cluster, by figure.
#[must_use]
pub fn distances(trace: &Trace) -> [(&'static str, f64); 4] {
    FIGURES.map(|Figure { name, table, of }| {
        (name, distance(trace.applications.iter().map(|application| (of(application), 1.0)), table))
    })
}

/// The value that this share of all values does not exceed, limited to `most`. Between two rows of the table, the
/// logarithm of the value is interpolated.
#[must_use]
pub fn value(table: Quantiles, part: f64, most: f64) -> f64 {
    let above = table.iter().position(|(wanted, _)| *wanted > part);
    let (low, high) = match above {
        Some(0) => ((0.0, table[0].1 / 2.0), table[0]),
        Some(above) => (table[above - 1], table[above]),
        None => (*table.last().expect("a table has rows"), (1.0, most)),
    };
    let way = ((part - low.0) / (high.0 - low.0)).clamp(0.0, 1.0);
    (low.1.ln() + way * (high.1.ln() - low.1.ln())).exp().min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_table_are_at_no_distance_from_it_and_others_are() {
        for Figure { name, table, .. } in FIGURES {
            let drawn = |factor: f64| {
                (0..10_000).map(move |n| (factor * value(table, (f64::from(n) + 0.5) / 10_000.0, 1e7), 1.0))
            };
            assert!(distance(drawn(1.0), table) < 0.001, "{name}");
            assert!(distance(drawn(2.0), table) > 0.1, "{name}");
        }
    }

    #[test]
    fn any_share_within_a_leap_is_right() {
        const TABLE: Quantiles = &[(0.25, 1.0), (0.75, 1.0)];
        assert!(distance([(1.0, 1.0)].into_iter(), TABLE).abs() < 1e-9);
        assert!((distance([(2.0, 1.0)].into_iter(), TABLE) - 0.75).abs() < 1e-9);
    }
}
