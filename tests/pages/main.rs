//! The pages of Master and Worker in a real Chromium: complete, legible, live, and safe.
//!
//! With `FIRESTEEL_PICTURES=DIR` the tests also save screenshots. docs/pictures has some of them.

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod browser;
#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod cluster;
#[path = "../heavy/component.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod component;
mod crowd;
mod forms;
#[path = "../../benches/load/link.rs"]
#[allow(dead_code, reason = "a bench uses more of it")]
mod link;
mod logs;
mod many;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod wait;

use component::{Component, Readiness};

/// The browser, and the program that drives it.
const CHROMIUM: Component = Component { name: "chromium", look: browser::look, prepare: || Readiness::Ready };

fn main() -> ExitCode {
    firesteel_host::daemon::raise_open_files();
    let mut arguments = Arguments::from_args();
    // One browser at a time is enough for a machine.
    arguments.test_threads.get_or_insert(1);
    let trials = CHROMIUM.trials(&[
        ("many::every_page_of_a_large_cluster_is_legible_in_each_look", many::legible),
        ("many::the_filter_searches_all_rows_as_the_reader_types_and_keys_move", many::filtered),
        ("many::changes_appear_without_reloading_and_the_focus_stays", many::live),
        ("many::without_a_script_the_pages_are_complete", many::unscripted),
        ("logs::a_log_is_followed_and_outlives_its_worker", logs::followed),
        ("forms::a_reader_ends_an_application_where_that_is_allowed", forms::ended),
    ]);
    let code = component::run(&arguments, trials);
    many::end();
    code
}
