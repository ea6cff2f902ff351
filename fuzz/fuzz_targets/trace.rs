//! `firesteel simulate`: any bytes are the two tables of a trace. What is read can be written, and read again.
#![no_main]

use firesteel_sim::trace::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (workers, applications) = halves(data);
    match Trace::read(workers, applications) {
        Ok(trace) => {
            let (mut workers, mut applications) = (Vec::new(), Vec::new());
            trace.write_workers(&mut workers).expect("memory takes it");
            trace.write_applications(&mut applications).expect("memory takes it");
            let again = Trace::read(&workers[..], &applications[..]).expect("what was written is sound");
            assert!(trace == again, "what is written is not what was read");
        }
        Err(error) => drop(error.to_string()),
    }
});

/// What is before the first zero byte, and what is after it.
fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    (&data[..end], data.get(end + 1..).unwrap_or_default())
}
