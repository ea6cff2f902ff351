//! Items with preferred hosts run there while there is room, then in the same rack, then anywhere.

use serde_json::json;

use crate::daemons::hosts::{Hosts, together};

const RACKS: &str = "127.0.0.1 /rack-1\n127.0.0.2 /rack-1\n127.0.0.3 /rack-2\n";

/// Longer than any wait on a busy machine.
const PATIENT: &str = "spark.locality.wait=100s";

#[test]
fn every_item_runs_on_the_host_that_it_prefers_while_there_is_room() {
    let hosts = Hosts::start(3, 2);
    let input: String = (0..60).map(|item| format!("127.0.0.{}\t{item}\n", item % 3 + 1)).collect();
    let script = ["sh", "-c", "echo $1 $FIRESTEEL_HOST", "sh"];
    let options = ["--conf", PATIENT, "--locality-column", "1", "--"];
    let (done, summary) = hosts.mapped(&[&options[..], &script[..]].concat(), &input);
    assert_eq!(done.code(), 0, "{done}");
    let expected: String = (0..60).map(|item| format!("{item} 127.0.0.{}\n", item % 3 + 1)).collect();
    assert_eq!(done.stdout, expected);
    assert_eq!(
        summary["locality"],
        json!({ "preferred_host": 60, "same_rack": 0, "elsewhere": 0 }),
        "{done}"
    );
    assert!(
        done.stderr.contains(
            "of items that prefer hosts: 60 ran on a preferred host, 0 in the same rack as one, 0 elsewhere"
        ),
        "{done}"
    );
}

#[test]
fn without_room_on_the_host_an_item_goes_to_its_rack_and_then_anywhere() {
    let hosts = Hosts::start(3, 1);
    let racks = format!("firesteel.topology.table={}", hosts.write("racks", RACKS));
    let preferences = hosts.write("wishes", &"127.0.0.1\n".repeat(3));
    let script = together(3, hosts.path("racks").parent().expect("a directory"));
    let options = ["--conf", &racks, "--conf", "spark.locality.wait=2s", "--locality", &preferences, "--"];
    let command = [&options[..], &["sh", "-c", &script]].concat();
    let (done, summary) = hosts.mapped(&command, "a\nb\nc\n");
    assert_eq!(done.code(), 0, "{done}");
    assert_eq!(done.stdout, "127.0.0.1\n127.0.0.2\n127.0.0.3\n");
    assert_eq!(summary["locality"], json!({ "preferred_host": 1, "same_rack": 1, "elsewhere": 1 }), "{done}");
}

#[test]
fn nobody_waits_for_a_host_without_an_executor() {
    let hosts = Hosts::start(1, 1);
    let (done, summary) =
        hosts.mapped(&["--conf", PATIENT, "--locality-column", "1", "--", "echo"], "node-9\ta\n");
    assert_eq!((done.code(), done.stdout.as_str()), (0, "a\n"), "{done}");
    assert!(done.stderr.contains("no Worker runs on \"node-9\", a preferred host of item 1"), "{done}");
    assert_eq!(summary["locality"], json!({ "preferred_host": 0, "same_rack": 0, "elsewhere": 1 }), "{done}");
}
