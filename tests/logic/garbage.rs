//! Readers of untrusted files accept or reject any bytes. The fuzz targets in `fuzz/` call the same functions for any
//! time; these tests run briefly.

use std::io::Read;

use firesteel_sim::draft::Draft;
use firesteel_sim::plan;
use firesteel_sim::trace::{Trace, openb};
use quickcheck::{Arbitrary, Gen};

use super::suites::laws::{Verdict, ensure, hold};
use crate::fixtures;

/// Changes of a text: each has a position (in 65,536ths of its length) and an action.
#[derive(Clone, Debug)]
struct Changes(Vec<(u16, Change)>);

#[derive(Clone, Debug)]
enum Change {
    Put(u8),
    Insert(u8),
    Cut(u8),
    Repeat(u8),
    Number(u64),
}

impl Arbitrary for Changes {
    fn arbitrary(g: &mut Gen) -> Self {
        let count = usize::from(u8::arbitrary(g) % 8);
        let change = |g: &mut Gen| match u8::arbitrary(g) % 5 {
            0 => Change::Put(u8::arbitrary(g)),
            1 => Change::Insert(*g.choose(b"\0\n\r,\"\\{}[]-.eE+ \xff9").expect("there are some")),
            2 => Change::Cut(u8::arbitrary(g)),
            3 => Change::Repeat(u8::arbitrary(g)),
            _ => Change::Number(u64::arbitrary(g)),
        };
        Self((0..count).map(|_| (u16::arbitrary(g), change(g))).collect())
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let all = self.0.clone();
        Box::new((0..all.len()).map(move |left_out| {
            let mut fewer = all.clone();
            fewer.remove(left_out);
            Self(fewer)
        }))
    }
}

impl Changes {
    fn of(&self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for (place, change) in &self.0 {
            let at = text.len() * usize::from(*place) / 65_536;
            let upto = |count: &u8| (at + usize::from(*count)).min(text.len());
            match change {
                Change::Put(byte) => text.iter_mut().skip(at).take(1).for_each(|old| *old = *byte),
                Change::Insert(byte) => text.insert(at, *byte),
                Change::Cut(count) => drop(text.drain(at..upto(count))),
                Change::Repeat(count) => {
                    let again = text[at..upto(count)].to_vec();
                    text.splice(at..at, again);
                }
                Change::Number(number) => {
                    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    text.splice(at..at + digits, number.to_string().into_bytes());
                }
            }
        }
        text
    }
}

#[test]
fn whatever_the_lines_of_a_plan_are_they_are_answered_or_refused() {
    let mut lines = Vec::new();
    for name in ["conformance/placements.jsonl.gz", "conformance/passes.jsonl.gz"] {
        let mut text = String::new();
        fixtures::open_gz(name).read_to_string(&mut text).expect("the fixture is text");
        lines.extend(text.lines().take(40).map(|line| line.as_bytes().to_vec()));
    }
    hold("garbage::whatever_the_lines", 3_000, |(which, changes): &(usize, Changes)| {
        answered(&changes.of(&lines[which % lines.len()]))
    });
    hold("garbage::whatever_the_lines", 3_000, |bytes: &Vec<u8>| answered(bytes));
}

fn answered(bytes: &[u8]) -> Verdict {
    for answer in plan::answers(bytes) {
        let said = answer.map_err(|error| error.to_string());
        ensure!(said.as_ref().err().is_none_or(|said| !said.is_empty()), "an error without words");
    }
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests read fixtures")]
fn whatever_the_text_of_a_cluster_on_paper_is_it_is_read_or_refused() {
    let cluster = std::fs::read(fixtures::path("plan/cluster.toml")).expect("the fixture can be read");
    hold("garbage::whatever_the_text_of_a_cluster", 10_000, |changes: &Changes| {
        let text = String::from_utf8_lossy(&changes.of(&cluster)).into_owned();
        let said = Draft::from_toml(&text).err().map(|error| error.to_string());
        ensure!(said.is_none_or(|said| !said.is_empty()), "an error without words");
        Ok(())
    });
}

const WORKERS: &[u8] = b"count,cores,memory_mib,gpus,model\n2,16,65536,0,\n1,96,393216,8,\"big, old\"\n";
const APPLICATIONS: &[u8] =
    b"arrival_s,executors,cores,memory_mib,gpus,lifetime_s,gang\n60,4,2.5,4096,1,600,4\n\
    0,1,1,0,0,5,\n7,64,0.125,512,0,1,64\n";

#[test]
fn whatever_the_tables_of_a_trace_are_they_are_read_or_refused_and_written_as_they_were_read() {
    hold("garbage::whatever_the_tables_of_a_trace", 20_000, |(one, other): &(Changes, Changes)| {
        traced(&one.of(WORKERS), &other.of(APPLICATIONS))
    });
    hold("garbage::whatever_the_tables_of_a_trace", 5_000, |(one, other): &(Vec<u8>, Vec<u8>)| {
        traced(one, other)
    });
}

fn traced(workers: &[u8], applications: &[u8]) -> Verdict {
    let trace = match Trace::read(workers, applications) {
        Ok(trace) => trace,
        Err(error) => {
            ensure!(error.to_string().contains(".csv: line "), "{error} does not say where");
            return Ok(());
        }
    };
    let (mut workers, mut applications) = (Vec::new(), Vec::new());
    trace.write_workers(&mut workers).expect("memory takes it");
    trace.write_applications(&mut applications).expect("memory takes it");
    let again = Trace::read(&workers[..], &applications[..]).map_err(|error| error.to_string())?;
    ensure!(trace == again, "{trace:?} is written as {again:?}");
    Ok(())
}

const NODES: &[u8] = b"sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,262144,0,\nn-1,96000,393216,8,G2\n";
const PODS: &[u8] = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
    p-0,6000,12288,1,460,,LS,Running,427061,12902960,427061\np-1,1,0,0,0,V100M16|V100M32,BE,Failed,1,7,2\n";

#[test]
fn whatever_alibabas_tables_are_they_are_read_or_refused() {
    hold("garbage::whatever_alibabas_tables", 20_000, |(one, other): &(Changes, Changes)| {
        let read = openb::read(&one.of(NODES)[..], &other.of(PODS)[..]);
        let said = read.err().map(|error| error.to_string());
        ensure!(said.as_ref().is_none_or(|said| said.contains(".csv: line ")), "{said:?} does not say where");
        Ok(())
    });
}
