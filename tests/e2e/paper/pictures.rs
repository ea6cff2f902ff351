//! Pictures of unusual clusters and traces: every text is inside the picture, no two texts overlap, and different names
//! stay different.

use std::path::Path;

use firesteel_sim::picture::Weight;
use firesteel_sim::picture::words::width;
use firesteel_testkit::{firesteel, run};
use regex::Regex;

/// A text of a picture, with its rectangle.
#[derive(Debug)]
struct Text {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Width and height of the picture.
fn size(svg: &str) -> (f64, f64) {
    let pattern = Regex::new(r#"^<svg [^>]*width="(\d+)" height="(\d+)""#).expect("the pattern is sound");
    let found = pattern.captures(svg).expect("a picture has a size");
    let number = |at: usize| found[at].parse().expect("a size is a number");
    (number(1), number(2))
}

fn texts(svg: &str) -> Vec<Text> {
    let pattern = r#"<text x="([^"]+)" y="([^"]+)" font-size="([^"]+)" class="[^"]+"( text-anchor="(\w+)")?( font-weight="600")?>([^<]*)</text>"#;
    let pattern = Regex::new(pattern).expect("the pattern is sound");
    let text = |found: regex::Captures<'_>| {
        let number = |at: usize| found[at].parse::<f64>().expect("it is a number");
        let (x, y, size) = (number(1), number(2), number(3));
        let weight = if found.get(6).is_some() { Weight::Bold } else { Weight::Plain };
        let text = found[7].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let width = width(&text, size, weight);
        let left = match found.get(5).map(|anchor| anchor.as_str()) {
            None => x,
            Some("middle") => x - width / 2.0,
            Some(_) => x - width,
        };
        Text { text, left, right: left + width, top: y - 0.75 * size, bottom: y + 0.2 * size }
    };
    let texts: Vec<Text> = pattern.captures_iter(svg).map(text).collect();
    assert_eq!(texts.len(), svg.matches("<text ").count(), "every text is read");
    texts
}

/// Checks the common properties of a picture, and returns its texts.
pub(crate) fn check(svg: &str) -> Vec<String> {
    let (width, height) = size(svg);
    let texts = texts(svg);
    for (number, one) in texts.iter().enumerate() {
        let is_inside = one.left >= 0.0 && one.right <= width && one.top >= 0.0 && one.bottom <= height;
        assert!(is_inside, "outside of the picture of {width} × {height}: {one:?}");
        for other in &texts[number + 1..] {
            let is_beside = one.right <= other.left || other.right <= one.left;
            assert!(
                is_beside || one.bottom <= other.top || other.bottom <= one.top,
                "{one:?} overlaps {other:?}"
            );
        }
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    texts.into_iter().map(|text| text.text).collect()
}

/// Draws a picture by a command, and checks it.
fn drawn(folder: &Path, command: &[&str]) -> Vec<String> {
    let path = folder.join("drawn.svg");
    let done = run(firesteel().current_dir(folder).args(command).arg("--svg").arg(&path));
    assert_eq!(done.code(), 0, "{command:?}: {done}");
    check(&std::fs::read_to_string(path).expect("the picture was written"))
}

#[test]
fn plans_of_odd_clusters_can_be_read() {
    let long = "worker-20261121055324-127.0.0.1-with-a-name-that-no-column-holds";
    let apps = |names: &[&str]| {
        let app = |name: &&str| {
            format!("[[applications]]\nname = \"{name}\"\nmax-cores = 200\nexecutor-cores = 7\n")
        };
        names.iter().map(app).collect::<String>()
    };
    let one = "[[workers]]\ncores = 1\nmemory = \"1g\"\n";
    let many = "[[workers]]\nname = \"node-with-a-long-name.rack-17.example.org-#\"\ncount = 1000\ncores = 64\n\
                memory = \"256g\"\n[[applications]]\ncount = 30\nmax-cores = 700\nexecutor-cores = 3\n";
    let alike = apps(&[
        "extract-the-nightly-figures-of-all-regions-1",
        "extract-the-nightly-figures-of-all-regions-2",
        "1-of-the-nightly-figures-of-all-regions-of-europe",
        "名前がとても長いアプリケーションの例です、とても長い",
        "🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥🔥 <b>&",
    ]);
    let gpus = format!(
        "[[workers]]\nname = \"{long}-#\"\ncount = 3\ncores = 4\nmemory = \"16g\"\nresources = {{ gpu = 900, fpga = 3 }}\n{alike}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder
        .path()
        .join("a-cluster-with-a-name-that-is-wider-than-any-picture-of-it-could-ever-be-made.toml");
    let file_name = file.to_str().expect("it is text");
    let shares = include_str!("../../../fixtures/plan/shares.toml");
    for cluster in [one, many, &format!("{one}{alike}"), &gpus, shares] {
        std::fs::write(&file, cluster).expect("the file can be written");
        for policies in ["spark", "spark,spark-consolidate,least-fragmentation"] {
            let texts = drawn(folder.path(), &["plan", file_name, "--compare", policies]);
            let mut cut: Vec<&String> = texts.iter().filter(|text| text.contains('…')).collect();
            let all = cut.len();
            cut.sort();
            cut.dedup();
            assert_eq!(cut.len(), all, "names that differ are cut to different texts: {cut:?}");
        }
    }
    let size = ["plan", "--master", "local-cluster[4,16,65536]", "--executor-cores", "6"];
    assert!(drawn(folder.path(), &size).contains(&"local-cluster[4,16,65536]".to_owned()));
}

/// Each picture of a trace shows the title of a chart with curves, or a sentence.
#[test]
fn pictures_of_short_traces_have_curves_or_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder
        .path()
        .join("a-trace-with-a-name-that-is-as-long-as-the-whole-picture-of-it-is-wide-and-then-some-more");
    std::fs::create_dir(&trace).expect("a directory can be made");
    std::fs::write(trace.join("workers.csv"), "count,cores,memory_mib,gpus\n1,8,65536,0\n")
        .expect("it can be written");
    let trace_name = trace.to_str().expect("it is text");
    let no_wait = "No application waits longer than 1 s.";
    let no_time = "All applications arrive at the same time: there is no course of time to show.";
    for (applications, options, expected) in [
        ("0,2,4,1024,0,600", &[][..], &[no_wait, no_time][..]),
        ("0,2,4,1024,0,0\n0,2,4,1024,0,0\n9,2,4,1024,0,0", &[], &[no_wait, "8 s", "0%"]),
        (
            "0,2,4,1024,0,600\n0,2,4,1024,0,90000\n0,1,4,1024,0,6",
            &[],
            &["waiting time", "1 d", "10 min", no_time],
        ),
        (
            "0,2,4,1024,0,600\n7000,2,4,1024,0,90000\n7100,2,4,1,0,9",
            &[],
            &["waiting time", "30 min", "90 min", "1"],
        ),
        ("0,2,4,1024,0,600\n7000,2,4,1024,0,90000\n7100,2,4,1,0,9", &["--static-fill"], &["80%", "100%"]),
        ("0,2,4,1024,0,600", &["--fewest-workers", "--load", "0.9"], &["spark", "1"]),
        (
            "0,2,4,1024,0,600\n0,1,5,1024,0,9",
            &["--fewest-workers", "--load", "10"],
            &["more than 4 times as many"],
        ),
    ] {
        let table = format!("arrival_s,executors,cores,memory_mib,gpus,lifetime_s\n{applications}\n");
        std::fs::write(trace.join("applications.csv"), table).expect("it can be written");
        let command: Vec<&str> =
            ["simulate", trace_name].into_iter().chain(options.iter().copied()).collect();
        let texts = drawn(folder.path(), &command);
        for expected in expected {
            assert!(
                texts.iter().any(|text| text == expected),
                "{expected} is missing for {applications}: {texts:?}"
            );
        }
    }
}
