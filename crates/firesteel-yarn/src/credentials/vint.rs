//! Hadoop's integers of variable length, and texts that follow their length. This is not the encoding of
//! protocol buffers.

use bytes::{Buf, BufMut};

/// Why bytes are not an integer or text of this encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end too early.
    #[error("it ends in the middle")]
    Short,
    #[error("a length in it is negative")]
    Negative,
    #[error("a text in it is not UTF-8")]
    NoText,
}

/// Writes an integer. A number from -112 to 127 takes one byte. Any other number is written as a byte with sign and
/// length, and then the bytes of the number. A negative number is written as its ones' complement.
pub fn put(number: i64, target: &mut impl BufMut) {
    if (-112..=127).contains(&number) {
        target.put_int(number, 1);
        return;
    }
    let (magnitude, sign) = if number < 0 { (!number, -120) } else { (number, -112) };
    let length = 8 - magnitude.leading_zeros() / 8;
    target.put_int(sign - i64::from(length), 1);
    let bytes = magnitude.to_be_bytes();
    let zeros = usize::try_from(magnitude.leading_zeros() / 8).expect("it is at most 8");
    target.put_slice(&bytes[zeros..]);
}

/// Reads an integer.
///
/// # Errors
/// The bytes end within the integer.
pub fn get(source: &mut impl Buf) -> Result<i64, Malformed> {
    let first = source.try_get_i8().map_err(|_| Malformed::Short)?;
    let (length, negative) = match first {
        -112..=127 => return Ok(i64::from(first)),
        -120..=-113 => (-112 - i16::from(first), false),
        -128..=-121 => (-120 - i16::from(first), true),
    };
    let mut magnitude = 0_i64;
    for _ in 0..length {
        let byte = source.try_get_u8().map_err(|_| Malformed::Short)?;
        magnitude = magnitude << 8 | i64::from(byte);
    }
    Ok(if negative { !magnitude } else { magnitude })
}

/// Writes a length and then the bytes.
pub fn put_bytes(bytes: &[u8], target: &mut impl BufMut) {
    put(i64::try_from(bytes.len()).expect("memory holds no more"), target);
    target.put_slice(bytes);
}

/// Reads a length and then the bytes. Allocates no more memory than bytes are available.
///
/// # Errors
/// Fewer bytes are available than the length says, or the length is negative.
pub fn get_bytes(source: &mut impl Buf) -> Result<Vec<u8>, Malformed> {
    let length = usize::try_from(get(source)?).map_err(|_| Malformed::Negative)?;
    if length > source.remaining() {
        return Err(Malformed::Short);
    }
    Ok(source.copy_to_bytes(length).to_vec())
}

/// Reads a text.
///
/// # Errors
/// The same as for [`get_bytes`], or the text is not UTF-8.
pub fn get_text(source: &mut impl Buf) -> Result<String, Malformed> {
    String::from_utf8(get_bytes(source)?).map_err(|_| Malformed::NoText)
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn written(number: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(number, &mut bytes);
        bytes
    }

    #[test]
    fn integers_are_written_as_hadoop_writes_them() {
        let rows: [(i64, &[u8]); 8] = [
            (0, &[0]),
            (127, &[127]),
            (-112, &[0x90]),
            (128, &[0x8f, 0x80]),
            (200, &[0x8f, 0xc8]),
            (-113, &[0x87, 0x70]),
            (1_700_000_000_123, &[0x8a, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x7b]),
            (i64::MIN, &[0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ];
        for (number, bytes) in rows {
            assert_eq!(written(number), bytes, "{number}");
        }
    }

    #[test]
    fn a_length_beyond_the_end_takes_no_memory() {
        let mut bytes = written(i64::MAX);
        bytes.push(1);
        assert_eq!(get_bytes(&mut &*bytes), Err(Malformed::Short));
        assert_eq!(get_bytes(&mut &*written(-1)), Err(Malformed::Negative));
    }

    quickcheck! {
        fn an_integer_that_was_written_is_read_back(number: i64, small: i8) -> bool {
            [number, i64::from(small), number >> 40].into_iter().all(|number| {
                let bytes = written(number);
                let mut source = &*bytes;
                get(&mut source) == Ok(number) && source.is_empty()
            })
        }

        fn no_bytes_break_the_reader(bytes: Vec<u8>) -> bool {
            let (mut text, mut integer) = (&*bytes, &*bytes);
            let (_, _) = (get_text(&mut text), get(&mut integer));
            true
        }
    }
}
