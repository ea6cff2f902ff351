//! The request table, against what Hadoop's own client was seen to send.

use firesteel_yarn::messages::master::{AllocateRequest, AllocateResponse, ContainerStatus};
use firesteel_yarn::messages::records::{ApplicationAttemptId, ApplicationId, ContainerId, Resource};
use firesteel_yarn::request_table::{ContainerRequest, RequestTable, Response};
use quickcheck::quickcheck;

fn capability() -> Resource {
    Resource::new(1408, 1)
}

/// Nothing is known of racks, so every host is in the same.
fn near(hosts: &[&str]) -> ContainerRequest {
    ContainerRequest::anywhere(0, capability()).near(hosts, |_| "/default-rack".to_owned())
}

fn container(id: i64) -> ContainerId {
    ContainerId::new(ApplicationAttemptId::new(ApplicationId::new(1, 1), 1), id)
}

/// The next heartbeat as a row of the table: response id, asks, releases, hosts excluded and not.
fn row(request: &AllocateRequest) -> String {
    let asks = request.ask.iter().map(|ask| {
        assert!(ask.relax_locality());
        let label = ask.node_label_expression.as_ref().map(|label| format!(" {label}"));
        format!("{}={}{}", ask.resource_name(), ask.num_containers(), label.unwrap_or_default())
    });
    let mut parts = vec![request.response_id().to_string()];
    parts.extend(asks);
    parts.extend(request.release.iter().map(|released| format!("release {}", released.id())));
    let hosts = request.blacklist_request.clone().unwrap_or_default();
    parts.extend(hosts.blacklist_additions.iter().map(|host| format!("+{host}")));
    parts.extend(hosts.blacklist_removals.iter().map(|host| format!("-{host}")));
    parts.join(" ")
}

/// Sends the next heartbeat and has it answered.
fn beat(table: &mut RequestTable) -> String {
    let request = table.heartbeat(0.1);
    let answer =
        AllocateResponse { response_id: Some(request.response_id() + 1), ..AllocateResponse::default() };
    assert_eq!(table.answered(&answer), Response::Fresh);
    row(&request)
}

#[test]
fn heartbeats_tell_what_hadoops_own_client_tells() {
    let mut table = RequestTable::default();
    let first = table.add(near(&["h1", "h2"]).in_racks(&["/rack1"]));
    let second = table.add(near(&["h1"]).in_racks(&["/rack1"]));
    let third = table.add(ContainerRequest::anywhere(0, capability()));
    assert_eq!(beat(&mut table), "0 *=3 /default-rack=2 /rack1=2 h1=2 h2=1");

    let at = |location| table.matching(0, location, &capability());
    assert_eq!(at("h1"), [[first, second]]);
    assert_eq!(at("/rack1"), [[first, second]]);
    assert_eq!(at("/default-rack"), [[first, second]]);
    assert_eq!(at("*"), [[first, second, third]]);
    assert!(at("h9").is_empty());
    assert!(table.matching(0, "*", &Resource::new(1000, 1)).is_empty());
    assert_eq!(table.matching(0, "*", &Resource::new(2000, 2)).len(), 1);
    assert_eq!(table.matching(0, "*", &Resource::new(2000, 1)).len(), 1);
    assert!(table.matching(1, "*", &capability()).is_empty());

    table.remove(second).expect("it is wanted");
    assert_eq!(beat(&mut table), "1 *=2 /default-rack=1 /rack1=1 h1=1");
    table.exclude("bad1");
    table.exclude("bad2");
    table.release(container(3));
    assert_eq!(beat(&mut table), "2 release 3 +bad1 +bad2");
    table.include("bad1");
    assert_eq!(beat(&mut table), "3 -bad1");
    assert_eq!(row(&table.heartbeat(0.1)), "4");
    table.forgotten();
    assert_eq!(beat(&mut table), "0 *=2 /default-rack=1 /rack1=1 h1=1 h2=1 release 3 +bad2");
    assert_eq!(beat(&mut table), "1");
    table.remove(first).expect("it is wanted");
    table.remove(third).expect("it is wanted");
    assert_eq!(beat(&mut table), "2 *=0 /default-rack=0 /rack1=0 h1=0 h2=0");
    assert_eq!(beat(&mut table), "3");
    table.add(ContainerRequest { node_label: Some("gpu".to_owned()), ..near(&["h1"]) });
    assert_eq!(beat(&mut table), "4 *=1 gpu /default-rack=1 h1=1");
}

#[test]
fn what_was_not_answered_is_sent_again_as_it_was() {
    let mut table = RequestTable::default();
    table.add(near(&["h1"]));
    let sent = table.heartbeat(0.1);
    table.add(near(&["h2"]));
    assert_eq!(table.heartbeat(0.1), sent);
    assert_eq!(beat(&mut table), "0 *=1 /default-rack=1 h1=1");
    assert_eq!(beat(&mut table), "1 *=2 /default-rack=2 h2=1");
}

#[test]
fn what_was_refused_is_told_again_with_what_came_since() {
    let mut table = RequestTable::default();
    let first = table.add(near(&["h1"]));
    table.exclude("bad");
    table.heartbeat(0.1);
    table.refused();
    table.remove(first);
    table.include("bad");
    assert_eq!(beat(&mut table), "0 *=0 /default-rack=0 h1=0");
}

#[test]
fn an_ask_is_told_again_though_its_number_is_the_one_told_before() {
    let mut table = RequestTable::default();
    let granted = table.add(ContainerRequest::anywhere(0, capability()));
    assert_eq!(beat(&mut table), "0 *=1");
    table.remove(granted);
    table.add(ContainerRequest::anywhere(0, capability()));
    assert_eq!(beat(&mut table), "1 *=1");
}

#[test]
fn a_response_that_was_there_before_is_not_looked_at_again() {
    let mut table = RequestTable::default();
    let answer = AllocateResponse { response_id: Some(1), ..AllocateResponse::default() };
    table.heartbeat(0.1);
    assert_eq!(table.answered(&answer), Response::Fresh);
    table.heartbeat(0.1);
    assert_eq!(table.answered(&answer), Response::Repeated);
}

#[test]
fn a_release_is_repeated_until_the_containers_end_is_told() {
    let mut table = RequestTable::default();
    table.release(container(3));
    assert_eq!(beat(&mut table), "0 release 3");
    table.forgotten();
    assert_eq!(row(&table.heartbeat(0.1)), "0 release 3");
    let ended = ContainerStatus { container_id: Some(container(3)), ..ContainerStatus::default() };
    let answer = AllocateResponse {
        response_id: Some(1),
        completed_container_statuses: vec![ended],
        ..AllocateResponse::default()
    };
    table.answered(&answer);
    table.forgotten();
    assert_eq!(row(&table.heartbeat(0.1)), "0");
}

quickcheck! {
    /// Whatever comes and goes, and whichever heartbeats are refused or forgotten: in the end nothing is asked for.
    fn asks_never_leak(steps: Vec<(u8, u8)>) -> bool {
        use std::collections::BTreeMap;
        let mut table = RequestTable::default();
        let mut wanted = Vec::new();
        let mut told: BTreeMap<String, i32> = BTreeMap::new();
        let mut tell = |table: &mut RequestTable, taken: bool| {
            let request = table.heartbeat(0.1);
            if taken {
                for ask in &request.ask {
                    told.insert(ask.resource_name().to_owned(), ask.num_containers());
                }
                let answer = AllocateResponse {
                    response_id: Some(request.response_id() + 1),
                    ..AllocateResponse::default()
                };
                table.answered(&answer);
            } else {
                table.refused();
            }
            told.clone()
        };
        for (step, which) in steps {
            match step % 5 {
                0 | 1 => wanted.push(table.add(near(&[["h1", "h2", "h3"][usize::from(which % 3)]]))),
                2 if !wanted.is_empty() => {
                    table.remove(wanted.swap_remove(usize::from(which) % wanted.len()));
                }
                3 => { tell(&mut table, which % 2 == 0); }
                _ => {}
            }
        }
        let anywhere = tell(&mut table, true).get("*").copied().unwrap_or(0);
        let counted = anywhere == i32::try_from(wanted.len()).expect("they are few");
        for id in wanted {
            table.remove(id);
        }
        counted && tell(&mut table, true).values().all(|count| *count == 0)
    }
}
