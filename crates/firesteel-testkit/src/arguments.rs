//! Parses the arguments of benches that do not use criterion. An unknown argument is an error, because a bench that
//! ignored it would measure everything for an hour.

use std::process::exit;

/// The arguments that a bench accepts besides `--test` and `--help`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Options without a value.
    pub flags: &'a [&'a str],
    /// Options that a number follows.
    pub numbers: &'a [&'a str],
    /// Words that select the measurements.
    pub words: &'a [&'a str],
}

/// The given arguments, after validation.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    options: Vec<String>,
    numbers: Vec<(String, u64)>,
    words: Vec<String>,
}

impl Arguments {
    /// Parses the arguments of this process. For `--help`, prints the accepted arguments and exits with code 0. For an
    /// unknown argument, exits with code 2.
    pub fn of(known: Known<'_>) -> Self {
        let given: Vec<String> = std::env::args().skip(1).collect();
        if given.iter().any(|word| word == "--help" || word == "-h") {
            println!("{}", known.usage());
            exit(0);
        }
        Self::read(known, given).unwrap_or_else(|error| {
            eprintln!("{error}\n{}", known.usage());
            exit(2);
        })
    }

    fn read(known: Known<'_>, given: Vec<String>) -> Result<Self, String> {
        let mut read = Self::default();
        let mut given = given.into_iter();
        while let Some(word) = given.next() {
            let is_one_of = |these: &[&str]| these.contains(&word.as_str());
            if is_one_of(known.numbers) {
                let number = given.next().and_then(|number| number.parse().ok());
                let number = number.ok_or_else(|| format!("{word} is not followed by a whole number"))?;
                read.numbers.push((word, number));
            } else if is_one_of(&["--bench", "--test"]) || is_one_of(known.flags) {
                // Cargo adds `--bench`.
                read.options.push(word);
            } else if is_one_of(known.words) {
                read.words.push(word);
            } else {
                return Err(format!("unknown argument {word}"));
            }
        }
        Ok(read)
    }

    /// Whether to run each measurement once with small sizes, only as a test.
    pub fn test(&self) -> bool {
        self.has("--test")
    }

    /// Whether this option was given.
    pub fn has(&self, flag: &str) -> bool {
        self.options.iter().any(|option| option == flag)
    }

    /// The number after the last occurrence of this option.
    pub fn number(&self, option: &str) -> Option<u64> {
        self.numbers.iter().rev().find(|(name, _)| name == option).map(|(_, number)| *number)
    }

    /// The words that were given.
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

impl Known<'_> {
    fn usage(&self) -> String {
        let numbers = self.numbers.iter().map(|option| format!("{option} N"));
        let options: Vec<String> =
            ["--test"].iter().chain(self.flags).map(|&flag| flag.to_owned()).chain(numbers).collect();
        let words = match self.words {
            [] => String::new(),
            words => format!("; {}", words.join(", ")),
        };
        format!("arguments, after --: {}{words}", options.join(", "))
    }
}
