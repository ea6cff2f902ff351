//! Names that clients see in answers.

/// The longest name of a user or an application in an answer, in characters. Longer names are cut.
const LONGEST_NAME: usize = 200;

/// The name of a user or an application, cut to [`LONGEST_NAME`] and without control characters.
pub(super) fn plain_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}
