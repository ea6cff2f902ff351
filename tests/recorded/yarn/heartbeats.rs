//! The contents of heartbeats, compared with captures of Hadoop's own client.

use std::collections::BTreeMap;

use firesteel_yarn::heartbeats::{Acknowledged, Changes, Heartbeats};
use firesteel_yarn::messages::master::{AllocateRequest, AllocateResponse, ResourceRequest};
use firesteel_yarn::messages::records::{ApplicationAttemptId, ApplicationId, ContainerId, Resource};
use quickcheck::quickcheck;

/// Requests these numbers of containers at these locations.
fn asks(counts: &[(&str, i32)]) -> Changes {
    let ask =
        |(location, count): &(&str, i32)| ResourceRequest::new(0, location, Resource::new(1408, 1), *count);
    Changes { ask: counts.iter().map(ask).collect(), ..Changes::default() }
}

fn container(id: i64) -> ContainerId {
    ContainerId::new(ApplicationAttemptId::new(ApplicationId::new(1, 1), 1), id)
}

fn names(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|&host| host.to_owned()).collect()
}

/// A heartbeat as a row: response id, asks, releases, newly excluded hosts and hosts no longer excluded.
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

fn answer_to(request: &AllocateRequest) -> AllocateResponse {
    AllocateResponse { response_id: Some(request.response_id() + 1), ..AllocateResponse::default() }
}

/// Sends the next heartbeat and answers it. Returns its row.
fn beat(heartbeats: &mut Heartbeats) -> String {
    let request = heartbeats.next(0.1);
    assert_eq!(heartbeats.answered(&answer_to(&request)), Acknowledged::All);
    row(&request)
}

fn tell(heartbeats: &mut Heartbeats, changes: Changes) -> String {
    heartbeats.add(changes);
    beat(heartbeats)
}

#[test]
fn heartbeats_tell_what_hadoops_own_client_tells() {
    let mut heartbeats = Heartbeats::default();
    let all = asks(&[("h1", 2), ("h2", 1), ("/rack1", 2), ("/default-rack", 2), ("*", 3)]);
    assert_eq!(tell(&mut heartbeats, all), "0 *=3 /default-rack=2 /rack1=2 h1=2 h2=1");
    let fewer = asks(&[("h1", 1), ("/rack1", 1), ("/default-rack", 1), ("*", 2)]);
    assert_eq!(tell(&mut heartbeats, fewer), "1 *=2 /default-rack=1 /rack1=1 h1=1");
    let bad =
        Changes { release: vec![container(3)], exclude: names(&["bad1", "bad2"]), ..Changes::default() };
    assert_eq!(tell(&mut heartbeats, bad), "2 release 3 +bad1 +bad2");
    let better = Changes { include: names(&["bad1"]), ..Changes::default() };
    assert_eq!(tell(&mut heartbeats, better), "3 -bad1");
    assert_eq!(row(&heartbeats.next(0.1)), "4");

    heartbeats.forgotten();
    let all = asks(&[("h1", 1), ("h2", 1), ("/rack1", 1), ("/default-rack", 1), ("*", 2)]);
    let all = Changes { release: vec![container(3)], exclude: names(&["bad2"]), ..all };
    let told = "0 *=2 /default-rack=1 /rack1=1 h1=1 h2=1 release 3 +bad2";
    assert_eq!(tell(&mut heartbeats, all), told);
    assert_eq!(beat(&mut heartbeats), "1");
    let nothing = asks(&[("h1", 0), ("h2", 0), ("/rack1", 0), ("/default-rack", 0), ("*", 0)]);
    assert_eq!(tell(&mut heartbeats, nothing), "2 *=0 /default-rack=0 /rack1=0 h1=0 h2=0");
    assert_eq!(beat(&mut heartbeats), "3");

    let mut labelled = asks(&[("*", 1), ("/default-rack", 1), ("h1", 1)]);
    labelled.ask[0].node_label_expression = Some("gpu".to_owned());
    assert_eq!(tell(&mut heartbeats, labelled), "4 *=1 gpu /default-rack=1 h1=1");
}

#[test]
fn a_count_is_told_again_though_it_is_the_one_told_before() {
    let mut heartbeats = Heartbeats::default();
    assert_eq!(tell(&mut heartbeats, asks(&[("*", 1)])), "0 *=1");
    assert_eq!(tell(&mut heartbeats, asks(&[("*", 1)])), "1 *=1");
}

#[test]
fn what_was_refused_is_told_again_with_what_came_since() {
    let mut heartbeats = Heartbeats::default();
    heartbeats.add(Changes { exclude: names(&["bad", "worse"]), ..asks(&[("*", 1), ("h1", 1)]) });
    heartbeats.next(0.1);
    heartbeats.refused();
    let since = Changes { release: vec![container(3)], include: names(&["bad"]), ..asks(&[("*", 0)]) };
    assert_eq!(tell(&mut heartbeats, since), "0 *=0 h1=1 release 3 +worse -bad");
}

quickcheck! {
    /// For any changes and any refused heartbeats: in the end the last count of each location was received, and each
    /// release of a container.
    fn the_last_word_on_each_thing_is_heard(steps: Vec<(u8, u8)>) -> bool {
        let mut heartbeats = Heartbeats::default();
        let (mut meant, mut given_back) = (BTreeMap::new(), BTreeMap::new());
        let (mut heard, mut heard_back) = (BTreeMap::new(), BTreeMap::new());
        let mut send = |heartbeats: &mut Heartbeats, is_taken: bool| {
            let request = heartbeats.next(0.1);
            if !is_taken {
                heartbeats.refused();
                return (heard.clone(), heard_back.clone());
            }
            for ask in &request.ask {
                heard.insert(ask.resource_name().to_owned(), ask.num_containers());
            }
            heard_back.extend(request.release.iter().map(|container| (container.id(), ())));
            heartbeats.answered(&answer_to(&request));
            (heard.clone(), heard_back.clone())
        };
        for (number, (step, which)) in (0..).zip(steps) {
            let location = ["*", "/rack1", "h1"][usize::from(which % 3)];
            match step % 4 {
                0 => {
                    meant.insert(location.to_owned(), i32::from(which));
                    heartbeats.add(asks(&[(location, i32::from(which))]));
                }
                1 => {
                    given_back.insert(number, ());
                    heartbeats.add(Changes { release: vec![container(number)], ..Changes::default() });
                }
                _ => drop(send(&mut heartbeats, which % 2 == 0)),
            }
        }
        send(&mut heartbeats, true) == (meant, given_back)
    }
}
