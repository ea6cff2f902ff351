//! Golden scripts of ApplicationMasters: pages of what happens to one, with everything that it did under each.
//!
//! They are written as those of a Master are (see `scripts`). A page may have several attempts at an application.

mod stage;

use self::stage::Stage;
use crate::scripts::{check, pages};

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/on_yarn";

macro_rules! pages {
    ($($page:ident)+) => {
        $(#[test]
        fn $page() {
            let mut stage = Stage::default();
            check(DIRECTORY, stringify!($page), &mut |command| stage.play(command));
        })+

        #[test]
        fn every_page_is_played() {
            let mut played = vec![$(stringify!($page).to_owned()),+];
            played.sort_unstable();
            assert_eq!(pages(DIRECTORY), played);
        }
    };
}

pages! {
    client_mode
    cluster_mode
    driver_returns
    failures
    manager_restarted
    second_attempt
}
