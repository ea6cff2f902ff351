//! Map runs: golden scripts of what happens to one, with everything that it did under each, and thousands of worlds from
//! seeds with deliberate bugs among them.
//!
//! Pages are written as those of a Master are (see `scripts`).

mod deliberate;
mod stage;
mod worlds;

use self::stage::Stage;
use crate::scripts::{check, pages};

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/map_runs";

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
    applications
    bad_input
    interrupted
    lost_output
    one_run
    read_ahead
    session
}
