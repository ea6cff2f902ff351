//! Text forms of amounts and addresses, and their bytes in messages for peers of version 6.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::{Amount, Part, Quantity, Resources};
use firesteel_protocol::wire::{self, MAX_FRAME};

#[test]
fn amounts_are_numbers_for_people_and_words_in_messages() {
    let part = |thousandths| Amount::Part(Part::of(thousandths).expect("it is a part"));
    for (amount, json) in [(Amount::Whole(3), "3"), (part(250), "0.25"), (part(1), "0.001")] {
        assert_eq!(serde_json::to_string(&amount).expect("it is written"), json);
        assert_eq!(serde_json::from_str::<Amount>(json).expect("it is read"), amount);
        assert_eq!(wire::decode::<Amount>(&encoded(&amount)).expect("it is read"), amount);
    }
    for json in ["1.5", "-1", "0.0001", "\"1\"", "1e300"] {
        assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
    }
    assert_eq!(serde_json::from_str::<Quantity>("1.5").expect("it is read"), Quantity::of(1500));
    for absurd in [Quantity::MOST, Quantity::whole(u64::MAX), Quantity::of(u64::MAX)] {
        assert_eq!(absurd, Quantity::MOST);
        assert_eq!(wire::decode::<Quantity>(&encoded(&absurd)).expect("it is read"), absurd);
    }
    // Peers of version 6 wrote whole numbers and sets of texts.
    assert_eq!(encoded(&Amount::Whole(300)), encoded(&300_u64));
    assert_eq!(encoded(&Quantity::whole(300)), encoded(&300_u64));
    let set = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        BTreeMap::from([("gpu".to_owned(), words.collect::<BTreeSet<String>>())])
    };
    let whole = Resources::from_iter([("gpu", ["0", "10", "2"])]);
    assert_eq!(encoded(&whole), encoded(&set(&["0", "10", "2"])));
    let parts = Resources::of_words([("gpu", ["0", "1@0.25"])]).expect("they differ");
    assert_eq!(encoded(&parts), encoded(&set(&["0", "1@0.25"])));
    assert_eq!(wire::decode::<Resources>(&encoded(&parts)).expect("it is read"), parts);
    let twice = encoded(&set(&["0", "0@0.25"]));
    assert!(wire::decode::<Resources>(&twice).is_err(), "one address, two parts");
}

fn encoded<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = bytes::BytesMut::new();
    wire::append(value, &mut bytes, MAX_FRAME).expect("it is short");
    bytes.to_vec()
}
