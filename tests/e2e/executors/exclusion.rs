//! A bad host gets only a few of the job's tasks.

use serde_json::json;

use crate::daemons::hosts::Hosts;

/// A script that succeeds on all hosts but the first, and counts its attempts there.
fn script(hosts: &Hosts) -> String {
    let attempts = hosts.path("attempts");
    let attempts = attempts.display();
    format!("sleep 0.03; if [ $FIRESTEEL_HOST = 127.0.0.1 ]; then echo $1 >> {attempts}; exit 9; fi; echo $1")
}

fn attempts(hosts: &Hosts) -> usize {
    std::fs::read_to_string(hosts.path("attempts")).unwrap_or_default().lines().count()
}

#[test]
fn a_host_where_everything_fails_gets_few_attempts_and_every_item_succeeds() {
    let hosts = Hosts::start(3, 2);
    let input: String = (0..200).map(|item| format!("{item}\n")).collect();
    let (done, summary) = hosts.mapped(&["--", "sh", "-c", &script(&hosts), "sh"], &input);
    assert_eq!((done.code(), done.stdout.as_str()), (0, input.as_str()), "{done}");
    let excluded = summary["exclusions"].as_array().expect("a list");
    assert_eq!(excluded.len(), 1, "{done}");
    let words = excluded[0].as_str().expect("words");
    assert!(words.contains("excluded executor ") && words.contains("on 127.0.0.1: "), "{words}");
    assert!(words.contains(" tasks failed there and succeeded elsewhere"), "{words}");
    assert!(done.stderr.contains(words) && done.stderr.contains("start there for 60 s"), "{done}");
    let attempts = attempts(&hosts);
    assert!((2..=40).contains(&attempts), "{attempts} attempts on the bad host:\n{done}");
}

#[test]
fn by_sparks_rule_two_tasks_that_fail_there_and_succeed_elsewhere_are_enough_for_an_hour() {
    let hosts = Hosts::start(3, 2);
    let input: String = (0..60).map(|item| format!("{item}\n")).collect();
    let on = ["--conf", "spark.excludeOnFailure.enabled=true", "--", "sh", "-c"];
    let (done, summary) = hosts.mapped(&[&on[..], &[&script(&hosts), "sh"]].concat(), &input);
    assert_eq!((done.code(), done.stdout.as_str()), (0, input.as_str()), "{done}");
    let words = summary["exclusions"][0].as_str().expect("words");
    assert!(words.contains("on 127.0.0.1: 2 tasks failed there and succeeded elsewhere"), "{words}");
    assert!(done.stderr.contains("start there for 3600 s"), "{done}");
}

#[test]
fn items_that_fail_once_wherever_they_run_exclude_nobody() {
    let hosts = Hosts::start(2, 2);
    let input: String = (0..200).map(|item| format!("{item}\n")).collect();
    let seen = hosts.path("seen");
    let once =
        format!("[ $(($1 % 10)) != 3 ] || ! mkdir {}-$1 2>/dev/null || exit 1; echo $1", seen.display());
    let (done, summary) = hosts.mapped(&["--", "sh", "-c", &once, "sh"], &input);
    assert_eq!((done.code(), done.stdout.as_str()), (0, input.as_str()), "{done}");
    assert_eq!(summary["exclusions"], json!([]), "{done}");
}

#[test]
fn switched_off_the_bad_host_goes_on_being_tried_and_still_every_item_succeeds() {
    let hosts = Hosts::start(2, 2);
    let input: String = (0..40).map(|item| format!("{item}\n")).collect();
    let off = ["--conf", "spark.excludeOnFailure.enabled=false", "--", "sh", "-c"];
    let (done, summary) = hosts.mapped(&[&off[..], &[&script(&hosts), "sh"]].concat(), &input);
    assert_eq!((done.code(), done.stdout.as_str()), (0, input.as_str()), "{done}");
    assert_eq!(summary["exclusions"], json!([]), "{done}");
}

#[test]
fn items_that_fail_everywhere_exclude_nobody() {
    let hosts = Hosts::start(2, 2);
    let input: String = (0..20).map(|item| format!("{item}\n")).collect();
    let (done, summary) = hosts.mapped(&["--", "sh", "-c", "exit 3"], &input);
    assert_eq!(done.code(), 1, "{done}");
    assert_eq!((&summary["exclusions"], &summary["failed"]), (&json!([]), &json!(20)), "{done}");
}
