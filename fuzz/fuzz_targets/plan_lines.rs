//! `firesteel plan --jsonl`: any bytes are lines, and each line is answered or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for answer in firesteel_sim::plan::answers(data) {
        let _ = answer.map_err(|error| error.to_string());
    }
});
