//! Amounts of memory in Spark's properties.

/// The whole MiB of an amount such as `512m` or `2g`. A number without a unit is in bytes. `None` if the text is not an
/// amount.
///
/// Source: Spark 4.0.1 (`Utils.memoryStringToMb`).
pub(crate) fn mebibytes(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: i64 = match unit {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "p" | "pb" => 1 << 50,
        _ => return None,
    };
    Some(number.parse::<i64>().ok()?.checked_mul(factor)? >> 20)
}

#[cfg(test)]
mod tests {
    use super::mebibytes;

    #[test]
    fn amounts_have_spark_s_units() {
        let rows = [("512m", 512), ("2G", 2048), (" 1t ", 1 << 20), ("1048576", 1), ("1024", 0), ("3kb", 0)];
        for (text, expected) in rows {
            assert_eq!(mebibytes(text), Some(expected), "{text}");
        }
        for text in ["", "m", "2q", "2 g", "-1m", "1.5g", "9999999p"] {
            assert_eq!(mebibytes(text), None, "{text}");
        }
    }
}
