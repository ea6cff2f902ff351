//! The pages of Master and Worker in a real Chromium: complete, legible, live, and safe.
//!
//! With `FIRESTEEL_PICTURES=DIR` the tests also write pictures of what they see. docs/pictures has some of them.

use std::sync::{Mutex, PoisonError};

use firesteel_testkit::component::{Component, Readiness};
use libtest_mimic::Trial;

mod browser;
mod forms;
mod logs;
mod many;

pub(crate) use many::end;

/// The browser, and the program that drives it.
const CHROMIUM: Component = Component { name: "chromium", look: browser::look, prepare: || Readiness::Ready };

/// Runs a test when no other one has a browser: one is enough for a machine.
fn alone(test: fn()) {
    static BROWSER: Mutex<()> = Mutex::new(());
    let _turn = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    test();
}

pub(crate) fn trials() -> Vec<Trial> {
    CHROMIUM.trials(&[
        ("pages::many::every_page_of_a_large_cluster_is_legible_in_each_look", || alone(many::legible)),
        ("pages::many::the_filter_searches_all_rows_as_the_reader_types_and_keys_move", || {
            alone(many::filtered)
        }),
        ("pages::many::changes_appear_without_reloading_and_the_focus_stays", || alone(many::live)),
        ("pages::many::without_a_script_the_pages_are_complete", || alone(many::unscripted)),
        ("pages::logs::a_log_is_followed_and_outlives_its_worker", || alone(logs::followed)),
        ("pages::forms::a_reader_ends_an_application_where_that_is_allowed", || alone(forms::ended)),
    ])
}
