//! Metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

use firesteel_host::meter::{BOUNDS, Distribution};
use firesteel_host::plain;

/// A page of metrics. Each family is written once, with its help and its type.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

/// A metric with its name, to add samples to.
#[derive(Debug)]
pub(super) struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

impl Exposition {
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, help, "gauge")
    }

    /// A number that only rises until the daemon is restarted.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, help, "counter")
    }

    /// A histogram of durations, in seconds.
    pub(super) fn histogram(&mut self, name: &'static str, help: &str, distribution: &Distribution) {
        self.family(name, help, "histogram");
        let Distribution { buckets, sum } = distribution;
        let mut count = 0;
        for (at, number) in buckets.iter().enumerate() {
            count += number;
            let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), |bound| bound.as_secs_f64().to_string());
            self.write(format_args!("{name}_bucket{{le=\"{bound}\"}} {count}"));
        }
        self.write(format_args!("{name}_sum {}", sum.as_secs_f64()));
        self.write(format_args!("{name}_count {count}"));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn family(&mut self, name: &'static str, help: &str, kind: &str) -> Family<'_> {
        self.write(format_args!("# HELP {name} {help}"));
        self.write(format_args!("# TYPE {name} {kind}"));
        Family { text: &mut self.text, name }
    }

    fn write(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a string takes everything");
    }
}

impl Family<'_> {
    pub(super) fn sample(mut self, labels: Labels<'_>, value: impl Display) -> Self {
        self.text.push_str(self.name);
        for (at, (label, word)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            self.write(format_args!("{label}=\"{}\"", escaped(word)));
        }
        self.text.push_str(if labels.is_empty() { "" } else { "}" });
        self.write(format_args!(" {value}\n"));
        self
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        self.text.write_fmt(words).expect("a string takes everything");
    }
}

/// The value of a label. Hidden characters are replaced, because names come from untrusted peers.
fn escaped(word: &str) -> String {
    plain::clean(word).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use firesteel_host::meter::Histogram;

    use super::*;

    /// The contents of a page of metrics: the type of each family, and each sample with its value. The parser is
    /// strict: it panics on everything that Prometheus would refuse, and on unconventional names and units.
    pub(in super::super) fn parsed(page: &str) -> (BTreeMap<String, String>, BTreeMap<String, f64>) {
        let (mut types, mut samples) = (BTreeMap::new(), BTreeMap::new());
        let mut helped = BTreeSet::new();
        let mut current = String::new();
        assert!(page.ends_with('\n'));
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help has words");
                assert!(help.ends_with('.') && help.len() > 10, "{line}");
                assert!(helped.insert(name.to_owned()), "{name} is there twice");
                current = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert_eq!(name, current, "the type follows the help");
                assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                assert!(kind != "histogram" || name.ends_with("_seconds"), "{line}");
                types.insert(name.to_owned(), kind.to_owned());
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
                let name = series.split('{').next().expect("there is a first");
                let is_name = |name: &str| {
                    name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
                        && !name.starts_with(|first: char| first.is_ascii_digit())
                };
                assert!(is_name(name), "{line}");
                let kind = types.get(&current).expect("the type comes first");
                let end = name.strip_prefix(current.as_str()).expect("samples follow their family");
                let ends: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(ends.contains(&end), "{line}");
                if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
                    let inner = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                    check_labels(inner.expect("labels are in braces"), is_name);
                }
                let value: f64 = value.parse().expect("a value is a number");
                assert!(kind != "counter" || value >= 0.0, "{line}");
                assert!(samples.insert(series.to_owned(), value).is_none(), "{series} is there twice");
            }
        }
        assert_eq!(helped, types.keys().cloned().collect());
        (types, samples)
    }

    fn check_labels(mut rest: &str, is_name: impl Fn(&str) -> bool) {
        loop {
            let (name, value) = rest.split_once("=\"").expect("a label has a value in quotes");
            assert!(is_name(name) || name == "le", "{name}");
            let mut escape = false;
            let end = value.find(|letter| {
                let ends = letter == '"' && !escape;
                escape = letter == '\\' && !escape;
                ends
            });
            rest = &value[end.expect("the quotes are closed") + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break assert_eq!(rest, ""),
            }
        }
    }

    #[test]
    fn a_page_has_help_type_and_samples() {
        let mut page = Exposition::default();
        page.gauge("a_bytes", "The bytes of a.").sample(&[], 7).sample(&[("of", "x\\\"\n,}")], 0.5);
        page.counter("b_total", "How often b was.").sample(&[("of", "")], u64::MAX);
        let text = page.finish();
        let expected = "# HELP a_bytes The bytes of a.\n# TYPE a_bytes gauge\na_bytes 7\n\
            a_bytes{of=\"x\\\\\\\"\u{fffd},}\"} 0.5\n\
            # HELP b_total How often b was.\n# TYPE b_total counter\nb_total{of=\"\"} 18446744073709551615\n";
        assert_eq!(text, expected);
        assert_eq!(parsed(&text).1.len(), 3);
    }

    #[test]
    fn a_histogram_s_buckets_add_up() {
        let histogram = Histogram::default();
        for micros in [1, 20, 20, 9_000_000] {
            histogram.record(Duration::from_micros(micros));
        }
        let mut page = Exposition::default();
        page.histogram("c_seconds", "How long c takes.", &histogram.distribution());
        let (_, samples) = parsed(&page.finish());
        let bucket = |bound: &str| samples[&format!("c_seconds_bucket{{le=\"{bound}\"}}")];
        assert_eq!((bucket("0.00001"), bucket("0.000025"), bucket("2.5"), bucket("+Inf")), (1., 3., 3., 4.));
        assert_eq!((samples["c_seconds_count"], samples["c_seconds_sum"]), (4., 9.000_041));
    }
}
