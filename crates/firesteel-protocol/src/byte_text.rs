//! Texts that represent bytes.
//!
//! On Unix an argument, an environment variable and a path are bytes, nearly always UTF-8. But messages, records,
//! tables and JSON contain texts. UTF-8 becomes the same text. Every byte outside of UTF-8, from 0x80 to 0xff, becomes
//! one private-use character, U+10FE00 plus the byte: 0xff is U+10FEFF. If the original bytes contain such a character
//! already, each of its four UTF-8 bytes is escaped. So every sequence of bytes has a text, and no two have the same
//! text.
//!
//! Firesteel turns bytes into a text where it receives them ([`of`], [`of_os`]). It turns the text back into bytes
//! where it passes them to the operating system ([`bytes()`], [`os`]): to start a process or to open a file. Output for
//! people shows U+FFFD in place of an escaped byte, as for control characters.
//!
//! Python escapes bytes in the same way (`surrogateescape`).

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The character for the byte 0. The byte 0 itself is never escaped.
const BASE: u32 = 0x10_fe00;

/// The byte that a character represents. `None` if the character represents no byte.
#[must_use]
pub fn byte(letter: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(letter).checked_sub(BASE)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

/// Whether the text contains escaped bytes: bytes that are not UTF-8.
#[must_use]
pub fn is_escaped(text: &str) -> bool {
    text.chars().any(|letter| byte(letter).is_some())
}

/// The text that represents these bytes.
#[must_use]
pub fn of(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !is_escaped(&text) => return text,
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match byte(letter) {
                None => text.push(letter),
                Some(_) => text.extend(letter.encode_utf8(&mut [0; 4]).bytes().map(escape)),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escape));
    }
    text
}

fn escape(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).expect("all characters for private use are valid")
}

/// The bytes that a text represents.
#[must_use]
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if !is_escaped(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// The text that represents an argument, an environment variable or a file name.
#[must_use]
pub fn of_os(word: impl Into<OsString>) -> String {
    of(word.into().into_vec())
}

/// The argument, environment variable or file name that a text represents.
#[must_use]
pub fn os(text: &str) -> OsString {
    OsStr::from_bytes(&bytes(text)).to_owned()
}

/// The path that a text represents.
#[must_use]
pub fn path(text: &str) -> PathBuf {
    os(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_utf_8_stands_for_itself() {
        for text in ["", "a b\n", "naïve", "東京", "\u{10fdff}\u{10ff00}", "\u{10fe7f}", "\u{fffd}"] {
            assert_eq!(of(text.as_bytes().to_vec()), text);
            assert!(matches!(bytes(text), Cow::Borrowed(same) if same == text.as_bytes()));
        }
    }

    #[test]
    fn every_sequence_of_bytes_has_its_own_text() {
        let whole: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let mut all = vec![whole, b"a\xffb".to_vec(), b"\xe6\x9d".to_vec(), b"\xed\xa0\x80".to_vec()];
        // The original bytes may already contain the characters that represent bytes.
        all.extend(["\u{10feff}", "x\u{10fe80}y"].map(|text| text.as_bytes().to_vec()));
        all.extend((0..=255).map(|byte| vec![byte]));
        let texts: std::collections::BTreeSet<String> = all.iter().cloned().map(of).collect();
        assert_eq!(texts.len(), all.len());
        for original in all {
            assert_eq!(*bytes(&of(original.clone())), original);
        }
        assert_eq!(of(b"a\xff".to_vec()), "a\u{10feff}");
        assert_eq!(os("a\u{10feff}").as_bytes(), b"a\xff");
    }
}
