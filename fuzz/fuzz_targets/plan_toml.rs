//! `firesteel plan CLUSTER`: any text is a cluster on paper, or is refused.
#![no_main]

use firesteel_sim::draft::Draft;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Draft::from_toml(text).map_err(|error| error.to_string());
});
