//! A service with several addresses: which one is called, how often, and with which identity.

use std::time::{Duration, Instant};

use firesteel_yarn::ipc::{
    CallError, Delivery, Idempotence, Identity, IpcError, Kind, Protocol, Retry, Service,
};
use firesteel_yarn::messages::application::{GetNewApplicationRequest, GetNewApplicationResponse};
use firesteel_yarn::messages::security::Token;

use crate::server::{Server, ServerAction, nobody};

const STANDBY: &str = "org.apache.hadoop.ipc.StandbyException";
const LATER: &str = "org.apache.hadoop.ipc.RetriableException";
const UNKNOWN: &str = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException";
const REFUSED: &str = "org.apache.hadoop.security.AccessControlException";

const RETRY: Retry = Retry {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(20),
    within: Duration::from_secs(30),
};

const NEVER: Retry = Retry { first: Duration::ZERO, longest: Duration::ZERO, within: Duration::ZERO };

fn alice() -> Identity {
    Identity::Simple { user: "alice".to_owned() }
}

fn service(addresses: &[&str], retry: Retry) -> Service {
    let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
    Service::new(addresses, Protocol::ApplicationClient, alice(), retry)
}

/// Calls the service, and returns the number in the answer.
async fn call(service: &Service, idempotence: Idempotence) -> Result<i32, CallError> {
    let answer: GetNewApplicationResponse =
        service.call("getNewApplication", &GetNewApplicationRequest {}, idempotence).await?;
    Ok(answer.application_id.map_or(0, |application| application.id()))
}

fn calls(number: usize) -> Vec<String> {
    vec!["getNewApplication by alice".to_owned(); number]
}

#[tokio::test]
async fn a_standby_passes_a_call_on_and_is_not_called_again() {
    let standby = Server::of_users(&[ServerAction::Object(STANDBY)]).await;
    let active = Server::of_users(&[ServerAction::Answer(1), ServerAction::Answer(2)]).await;
    let service = service(&[&standby.address, &active.address], RETRY);
    for number in [1, 2] {
        assert_eq!(call(&service, Idempotence::NotIdempotent).await.expect("one is in charge"), number);
    }
    assert_eq!((standby.heard(), active.heard()), (calls(1), calls(2)));
}

#[tokio::test]
async fn the_standby_is_called_again_when_it_has_taken_over() {
    let first =
        Server::of_users(&[ServerAction::Answer(1), ServerAction::Object(STANDBY), ServerAction::Answer(4)])
            .await;
    let second = Server::of_users(&[ServerAction::Answer(2), ServerAction::Object(STANDBY)]).await;
    let service = service(&[&first.address, &second.address], RETRY);
    for number in [1, 2, 4] {
        assert_eq!(call(&service, Idempotence::NotIdempotent).await.expect("one is in charge"), number);
    }
    assert_eq!((first.heard(), second.heard()), (calls(3), calls(2)));
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_passed() {
    let active = Server::of_users(&[ServerAction::Answer(1)]).await;
    let service = service(&[&nobody().await, &nobody().await, &active.address], RETRY);
    assert_eq!(call(&service, Idempotence::NotIdempotent).await.expect("one is there"), 1);
    assert_eq!(active.heard(), calls(1));
}

/// Two simultaneous calls meet the same standby: both go on to the next address, and none skips it.
#[tokio::test]
async fn calls_that_meet_a_standby_together_go_to_the_same_next_one() {
    let standby = Server::of_users(&[ServerAction::Keep, ServerAction::ObjectToAll(STANDBY)]).await;
    let active = Server::of_users(&[ServerAction::Answer(1)]).await;
    let service = service(&[&standby.address, &active.address], RETRY);
    let both =
        tokio::join!(call(&service, Idempotence::NotIdempotent), call(&service, Idempotence::NotIdempotent));
    assert_eq!((both.0.expect("one is in charge"), both.1.expect("one is in charge")), (1, 1));
    assert_eq!((standby.heard(), active.heard()), (calls(2), calls(2)));
}

#[tokio::test]
async fn all_are_tried_in_turn_until_the_time_is_up() {
    let standbys = [
        Server::of_users(&[ServerAction::Object(STANDBY)]).await,
        Server::of_users(&[ServerAction::Object(STANDBY)]).await,
    ];
    let retry = Retry { within: Duration::from_millis(100), ..RETRY };
    let service = service(&[&standbys[0].address, &standbys[1].address], retry);
    let begun = Instant::now();
    let failure = call(&service, Idempotence::Idempotent).await.expect_err("nobody is in charge");
    assert_eq!(failure.kind(), Some(Kind::Standby), "{failure}");
    let [first, second] = standbys.map(|standby| standby.heard().len());
    assert!(first.abs_diff(second) <= 1, "{first} and {second}");
    // Pauses of 5, 10, 20, 20 .. ms: eight rounds at most, fewer on a busy machine.
    assert!((2..=8).contains(&first), "{first} times within {:?}", begun.elapsed());
}

#[tokio::test]
async fn where_nobody_is_reached_the_failure_names_the_address() {
    let nobody = nobody().await;
    let failure =
        call(&service(&[&nobody], NEVER), Idempotence::Idempotent).await.expect_err("nobody is there");
    assert_eq!(failure.delivery, Delivery::NotDelivered);
    assert!(
        matches!(&failure.error, IpcError::Unreachable { address, .. } if *address == nobody),
        "{failure}"
    );
    assert!(
        failure.to_string().contains(&format!("{nobody} cannot be reached: Connection refused")),
        "{failure}"
    );
}

#[tokio::test]
async fn a_server_that_asks_for_patience_is_called_again_and_no_other() {
    let busy = Server::of_users(&[
        ServerAction::Object(LATER),
        ServerAction::Object(LATER),
        ServerAction::Answer(3),
    ])
    .await;
    let other = Server::of_users(&[ServerAction::Answer(9)]).await;
    let service = service(&[&busy.address, &other.address], RETRY);
    assert_eq!(call(&service, Idempotence::NotIdempotent).await.expect("it has time"), 3);
    assert_eq!((busy.heard(), other.heard()), (calls(3), calls(0)));
}

#[tokio::test]
async fn an_objection_to_the_call_itself_ends_it() {
    for (deed, kind, delivery) in [
        (ServerAction::Object(UNKNOWN), Kind::ApplicationNotFound, Delivery::Answered),
        (ServerAction::ObjectForGood(REFUSED), Kind::AccessDenied, Delivery::Unknown),
    ] {
        let first = Server::of_users(&[deed]).await;
        let second = Server::of_users(&[ServerAction::Answer(1)]).await;
        let service = service(&[&first.address, &second.address], RETRY);
        let failure = call(&service, Idempotence::Idempotent).await.expect_err("it is refused");
        assert_eq!((failure.kind(), failure.delivery), (Some(kind), delivery), "{failure}");
        assert_eq!((first.heard(), second.heard()), (calls(1), calls(0)));
    }
}

#[tokio::test]
async fn a_call_in_doubt_is_made_again_only_if_that_does_no_harm() {
    let falling = || Server::of_users(&[ServerAction::Hang, ServerAction::Answer(1)]);
    let (first, second) = (falling().await, Server::of_users(&[ServerAction::Answer(2)]).await);
    let harmless = service(&[&first.address, &second.address], RETRY);
    assert_eq!(call(&harmless, Idempotence::Idempotent).await.expect("another answers"), 2);

    let first = falling().await;
    let harmful = service(&[&first.address, &second.address], RETRY);
    let failure =
        call(&harmful, Idempotence::NotIdempotent).await.expect_err("nobody knows whether it was done");
    assert_eq!(failure.delivery, Delivery::Unknown, "{failure}");
    assert_eq!((first.heard(), second.heard()), (calls(1), calls(1)));
    // The next call has a new connection.
    assert_eq!(call(&harmful, Idempotence::NotIdempotent).await.expect("it listens still"), 1);
}

fn token(name: &str) -> Token {
    Token {
        identifier: name.as_bytes().to_vec(),
        password: format!("secret of {name}").into_bytes(),
        kind: name.to_owned(),
        service: String::new(),
    }
}

/// A ResourceManager replaces tokens while the connection continues.
#[tokio::test]
async fn whoever_is_identified_anew_is_so_from_the_next_connection_on() {
    let tokens = [token("first"), token("second")];
    let script =
        [ServerAction::Answer(1), ServerAction::Answer(2), ServerAction::Hang, ServerAction::Answer(3)];
    let server = Server::of_tokens(&script, &tokens).await;
    let identity = Identity::Token(tokens[0].clone());
    let service = Service::new(vec![server.address.clone()], Protocol::ApplicationMaster, identity, RETRY);
    assert_eq!(call(&service, Idempotence::Idempotent).await.expect("it is known"), 1);
    service.identify(Identity::Token(tokens[1].clone())).await;
    for number in [2, 3] {
        assert_eq!(call(&service, Idempotence::Idempotent).await.expect("it is known"), number);
    }
    let by = |name: &str| format!("getNewApplication by {name}");
    assert_eq!(server.heard(), [by("first"), by("first"), by("first"), by("second")]);
}

/// Each address gets a new greeting, with the token.
#[tokio::test]
async fn a_token_is_proved_to_each_server() {
    let standby = Server::of_tokens(&[ServerAction::Object(STANDBY)], &[token("one")]).await;
    let active = Server::of_tokens(&[ServerAction::Answer(1)], &[token("one")]).await;
    let addresses = vec![standby.address.clone(), active.address.clone()];
    let service = Service::new(addresses, Protocol::ApplicationMaster, Identity::Token(token("one")), RETRY);
    assert_eq!(call(&service, Idempotence::NotIdempotent).await.expect("one is in charge"), 1);
    assert_eq!(standby.heard(), ["getNewApplication by one"]);
    assert_eq!(active.heard(), ["getNewApplication by one"]);
}
