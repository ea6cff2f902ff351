use super::*;
use crate::application::ApplicationSettings;
use crate::application::yarn::YarnSettings;
use crate::daemon::master;
use crate::key::Default;
use crate::{Properties, SettingError, WorkerSettings};

#[test]
fn every_row_is_one_sentence_about_one_property() {
    for (at, key) in all().enumerate() {
        let Key { name, .. } = key;
        assert!(name.starts_with("spark.") || name.starts_with("firesteel."), "{name}");
        assert!(key.meaning().ends_with('.') && key.meaning().len() < 140, "{name}: {}", key.meaning());
        assert!(all().take(at).all(|other| matched(other.name, name).is_none()), "{name} is there twice");
    }
}

#[test]
fn the_table_says_the_defaults_that_the_code_has() -> Result<(), SettingError> {
    let unset = Properties::default();
    let values = all().filter_map(|key| match key.default {
        Default::Value(value) => Some(format!("{}={value}", key.name)),
        Default::Otherwise(_) => None,
    });
    let values: Vec<String> = values.collect();
    let set = Properties::parse(values.iter().map(String::as_str))?;
    assert_eq!(master::config(&set, String::new())?, master::config(&unset, String::new())?);
    assert_eq!(WorkerSettings::of(&set)?, WorkerSettings::of(&unset)?);
    let (one, other) = (ApplicationSettings::of(&set)?, ApplicationSettings::of(&unset)?);
    assert_eq!(one, other);
    assert_eq!(YarnSettings::of(&set, &one)?, YarnSettings::of(&unset, &other)?);
    Ok(())
}
