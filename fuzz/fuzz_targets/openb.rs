//! `firesteel simulate`: any bytes are the two tables of Alibaba's form.
#![no_main]

use firesteel_sim::trace::openb;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (nodes, pods) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let _ = openb::read(nodes, pods).map_err(|error| error.to_string());
});
