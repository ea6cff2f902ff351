//! Decides whether output has colours.

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{ColorChoice, ValueEnum};

/// Where colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Colors {
    /// Only on terminals that support colour. NO_COLOR disables it, CLICOLOR_FORCE enables it everywhere
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Colors {
    /// Finds the colour option in the unparsed command line, since help and errors need the option before parsing.
    pub(super) fn asked(words: &[OsString]) -> Self {
        let own = words.iter().take_while(|word| *word != "--");
        let own: Vec<_> = own.map(|word| word.to_string_lossy()).collect();
        let value = own.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--color=") {
            Some(value) => Some(value.to_owned()),
            None => (word == "--color").then(|| own.get(at + 1).map(ToString::to_string)).flatten(),
        });
        value.and_then(|value| Self::from_str(&value, false).ok()).unwrap_or_default()
    }

    /// The choice of colours for help and usage errors. Clap itself respects NO_COLOR, CLICOLOR_FORCE and TERM.
    pub(super) fn for_help(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }

    /// Whether to use colours on standard error.
    pub(super) fn on_stderr(self) -> bool {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        self.decided(variable, std::io::stderr().is_terminal())
    }

    fn decided(self, variable: impl Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if variable("NO_COLOR").is_some() => false,
            Self::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto => is_terminal && variable("TERM").is_some_and(|term| term != "dumb"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_beat_variables_and_variables_beat_the_terminal() {
        let decided = |colors: Colors, variables: &[(&str, &str)], is_terminal| {
            let variable = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
            colors.decided(variable, is_terminal)
        };
        let term = ("TERM", "xterm");
        for (colors, variables, is_terminal, expected) in [
            (Colors::Auto, &[term][..], true, true),
            (Colors::Auto, &[term], false, false),
            (Colors::Auto, &[("TERM", "dumb")], true, false),
            (Colors::Auto, &[], true, false),
            (Colors::Auto, &[term, ("NO_COLOR", "1")], true, false),
            (Colors::Auto, &[("CLICOLOR_FORCE", "1")], false, true),
            (Colors::Auto, &[("CLICOLOR_FORCE", "0")], false, false),
            (Colors::Auto, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true, false),
            (Colors::Always, &[("NO_COLOR", "1")], false, true),
            (Colors::Never, &[term, ("CLICOLOR_FORCE", "1")], true, false),
        ] {
            assert_eq!(decided(colors, variables, is_terminal), expected, "{colors:?} {variables:?}");
        }
    }

    #[test]
    fn the_flag_is_found_before_the_line_is_understood() {
        let asked = |line: &str| Colors::asked(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("firesteel --color never status"), Colors::Never);
        assert_eq!(asked("firesteel status --color=always"), Colors::Always);
        assert_eq!(asked("firesteel map -- ls --color always"), Colors::Auto);
        assert_eq!(asked("firesteel --color"), Colors::Auto);
    }
}
