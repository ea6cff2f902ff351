//! The names of a log's rolled files.

use super::segments::in_order;

/// A generator of names for rolled files. In the order of [`in_order`], each name comes after all earlier ones, even if
/// the clock was set back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    active: &'static str,
    last: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    base: String,
    /// The number that is added to the name, if earlier files already have the same base name.
    clashes: Option<u32>,
}

impl Name {
    fn text(&self) -> String {
        match self.clashes {
            None => self.base.clone(),
            Some(number) => format!("{}--{number}", self.base),
        }
    }
}

impl Names {
    /// A generator of names that come after `last`, the last name in use.
    pub(super) fn after(active: &'static str, last: Option<String>) -> Self {
        Self { active, last: last.map(|base| Name { base, clashes: None }) }
    }

    /// The name for a file that is rolled now.
    pub(super) fn next(&mut self, suffix: &str) -> String {
        let range = format!("{}{suffix}", self.active);
        let name = match self.last.take() {
            Some(Name { base, clashes }) if in_order(&range, &base).is_le() => {
                Name { base, clashes: Some(clashes.map_or(0, |number| number + 1)) }
            }
            Some(_) | None => Name { base: range, clashes: None },
        };
        let text = name.text();
        self.last = Some(name);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_or_comes_too_late_gets_a_number() {
        let mut names = Names::after("stdout", Some("stdout--2026-11-20".to_owned()));
        let mut taken = Vec::new();
        for suffix in
            ["--2026-11-20", "--2026-11-20", "--2026-11-21", "--2026-11-19", "--2026-11-21", "--2026-11-22"]
        {
            taken.push(names.next(suffix));
        }
        let expected = [
            "stdout--2026-11-20--0",
            "stdout--2026-11-20--1",
            "stdout--2026-11-21",
            "stdout--2026-11-21--0",
            "stdout--2026-11-21--1",
            "stdout--2026-11-22",
        ];
        assert_eq!(taken, expected);
        assert!(taken.is_sorted_by(|a, b| in_order(a, b).is_lt()));
    }
}
