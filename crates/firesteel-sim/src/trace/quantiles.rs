//! What the applications of a real cluster are like, and how near a trace comes to it.
//!
//! The numbers were computed from the GPU trace that Alibaba published in 2023 (1,523 nodes, 8,152 pods).

use super::{Trace, TraceApplication};

/// Values with the part of all that is no greater, both ascending.
pub type Quantiles = &'static [(f64, f64)];

/// Cores of a request.
pub const CORES: Quantiles =
    &[(0.05, 3.2), (0.25, 4.0), (0.50, 11.3), (0.75, 12.0), (0.90, 16.4), (0.99, 32.0), (1.0, 120.0)];
/// GiB of a request.
pub const GIB: Quantiles =
    &[(0.05, 5.5), (0.25, 14.9), (0.50, 40.6), (0.75, 48.0), (0.90, 57.0), (0.99, 123.0), (1.0, 720.0)];
/// GiB for each core of a request.
pub const GIB_PER_CORE: Quantiles = &[(0.05, 1.5), (0.25, 1.7), (0.50, 3.7), (0.75, 4.1), (0.95, 6.0)];
/// Seconds for which applications run.
pub const LIFETIME: Quantiles =
    &[(0.05, 50.0), (0.25, 175.0), (0.50, 616.0), (0.75, 2_236.0), (0.90, 7_763.0), (0.99, 114_035.0)];
/// The mean of those seconds: nearly all of it is the last hundredth.
pub const MEAN_LIFETIME: f64 = 28_949.0;
/// Parts of the requests that ask for no GPU, for one, and for 2 to 8.
pub const GPUS: [f64; 3] = [0.13, 0.86, 0.009];

/// One number of an application, and how it is spread in the real cluster.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What it is.
    pub name: &'static str,
    /// How it is spread.
    pub table: Quantiles,
    /// The number.
    pub of: fn(&TraceApplication) -> f64,
}

/// What is looked at: the requests first, then how long applications run.
pub const LOOKS: [Look; 4] = [
    Look { name: "cores", table: CORES, of: cores },
    Look { name: "GiB", table: GIB, of: gib },
    Look {
        name: "GiB for each core",
        table: GIB_PER_CORE,
        of: |application| gib(application) / cores(application),
    },
    Look { name: "seconds", table: LIFETIME, of: |application| application.lifetime.as_secs_f64() },
];

fn cores(application: &TraceApplication) -> f64 {
    application.request.milli_cores as f64 / 1000.0
}

fn gib(application: &TraceApplication) -> f64 {
    application.request.memory.0 as f64 / 1024.0
}

/// Kolmogorov's distance between the values and the table, as far as the table goes: by how much the part of the
/// values that are no greater differs from the one that the table has, at most. Where many values are equal, that part
/// leaps, and any share within the leap is right.
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

/// Each look at the trace's applications with its distance from the table.
#[must_use]
pub fn distances(trace: &Trace) -> [(&'static str, f64); 4] {
    LOOKS.map(|Look { name, table, of }| {
        (name, distance(trace.applications.iter().map(|application| (of(application), 1.0)), table))
    })
}

/// The value below which that part of all lies, between two rows of the table as if logarithms were even; below the
/// first row as between the first two, and never more than `most`.
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
        for Look { name, table, .. } in LOOKS {
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
