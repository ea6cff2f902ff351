//! The parser of sizes in memory and on disk: `512m`, `1g`.

use firesteel_placement::MiB;

/// The unit of a number that is written without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    KiB,
    MiB,
}

/// The syntax of a size, for error messages.
pub const EXPECTED: &str =
    "a whole number with a unit (b, k, m, g, t or p, also as kb or kib; powers of 1024), such as 512m or 2g";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    #[error("{text:?} is not a size: write {EXPECTED}")]
    Malformed { text: String },
    #[error("{text:?} has a fraction: write a whole number with a smaller unit, such as 1536m for 1.5g")]
    Fraction { text: String },
    /// The size does not fit into 64 bits.
    #[error("{text:?} is too large")]
    TooLarge { text: String },
    #[error("{text:?} is less than 1 MiB, perhaps without its unit: write {EXPECTED}")]
    LessThanMiB { text: String },
}

/// The number of bytes of a size such as `1g`, `512MB`, `64 k`. A number without a unit counts `plain` units. All units
/// are powers of 1024, case does not matter, and fractions are refused.
///
/// Source: Spark 4.0.1. The units KiB to PiB are from later versions.
///
/// # Errors
/// The text is not a size, or the size does not fit into 64 bits.
pub fn bytes(text: &str, plain: Unit) -> Result<u64, SizeError> {
    let given = || text.to_owned();
    let trimmed = text.trim();
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = trimmed.split_at(digits);
    if suffix.starts_with('.') && !number.is_empty() {
        return Err(SizeError::Fraction { text: given() });
    }
    if number.is_empty() {
        return Err(SizeError::Malformed { text: given() });
    }
    let shift = match suffix.trim_start().to_ascii_lowercase().as_str() {
        "" => plain.shift(),
        "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        _ => return Err(SizeError::Malformed { text: given() }),
    };
    let number: u64 = number.parse().map_err(|_| SizeError::TooLarge { text: given() })?;
    number.checked_mul(1 << shift).ok_or_else(|| SizeError::TooLarge { text: given() })
}

/// An amount of memory, rounded down to whole MiB.
///
/// # Errors
/// The same as for [`bytes()`], or the size is less than 1 MiB.
pub fn memory(text: &str, plain: Unit) -> Result<MiB, SizeError> {
    match bytes(text, plain)? >> 20 {
        0 => Err(SizeError::LessThanMiB { text: text.to_owned() }),
        mib => Ok(MiB(i64::try_from(mib).expect("it was shifted by 20"))),
    }
}

impl Unit {
    fn shift(self) -> u32 {
        match self {
            Self::Bytes => 0,
            Self::KiB => 10,
            Self::MiB => 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_in_any_case() {
        for (text, expected) in [
            ("0", 0),
            ("7", 7),
            ("7b", 7),
            ("1k", 1 << 10),
            ("1KB", 1 << 10),
            ("512m", 512 << 20),
            ("512MB", 512 << 20),
            ("512MiB", 512 << 20),
            ("2g", 2 << 30),
            (" 2 Gb ", 2 << 30),
            ("3t", 3 << 40),
            ("1p", 1 << 50),
        ] {
            assert_eq!(bytes(text, Unit::Bytes), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_number_alone_counts_the_settings_own_unit() {
        assert_eq!(memory("1024", Unit::MiB), Ok(MiB(1024)));
        assert_eq!(memory("2048", Unit::KiB), Ok(MiB(2)));
        assert_eq!(
            memory("10000", Unit::Bytes).expect_err("that is no MiB").to_string(),
            "\"10000\" is less than 1 MiB, perhaps without its unit: write a whole number with a unit (b, k, m, g, \
             t or p, also as kb or kib; powers of 1024), such as 512m or 2g"
        );
        assert_eq!(memory("1536k", Unit::Bytes), Ok(MiB(1)));
    }

    #[test]
    fn malformed_sizes_are_refused() {
        for text in ["", "g", "-1g", "1x", "1gg", "1 g b", "0x10", "1e3", "１g", "1g;", "one"] {
            assert!(matches!(bytes(text, Unit::MiB), Err(SizeError::Malformed { .. })), "{text:?}");
        }
        for text in ["1.5g", "0.5"] {
            assert!(matches!(bytes(text, Unit::MiB), Err(SizeError::Fraction { .. })), "{text:?}");
        }
        for text in ["99999999999999999999", "18446744073709551615k", "16384p"] {
            assert!(matches!(bytes(text, Unit::MiB), Err(SizeError::TooLarge { .. })), "{text:?}");
        }
    }
}
