//! The default name of an application.

use super::misplaced::SHELLS;

/// The maximum number of a script's characters in a name.
const LONGEST: usize = 24;

/// The program's name. For a script on a shell's command line (`sh -c '..'`), the first words of the script, because
/// applications that are all called `sh` could not be distinguished.
pub(super) fn default_name(program: &str, arguments: &[String]) -> String {
    script(program, arguments).filter(|words| !words.is_empty()).unwrap_or_else(|| program.to_owned())
}

fn script(program: &str, arguments: &[String]) -> Option<String> {
    let base = program.rsplit('/').next().unwrap_or(program);
    if !SHELLS.contains(&base) {
        return None;
    }
    let takes_a_script =
        |option: &String| option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
    let at = arguments.iter().take_while(|argument| argument.starts_with('-')).position(takes_a_script)?;
    let words = arguments.get(at + 1)?.split_whitespace();
    let mut name = String::new();
    for word in words {
        let length = name.chars().count() + word.chars().count();
        if !name.is_empty() && length >= LONGEST {
            return Some(name + " ..");
        }
        if !name.is_empty() {
            name.push(' ');
        }
        name.extend(word.chars().take(LONGEST));
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::default_name;

    #[test]
    fn a_script_of_a_shell_names_its_application() {
        for (command, name) in [
            (&["gzip", "-k"][..], "gzip"),
            (&["./tool.sh", "-c", "x"], "./tool.sh"),
            (&["sh", "-c", "exec sleep  0.3"], "exec sleep 0.3"),
            (&["/bin/bash", "-o", "pipefail"], "/bin/bash"),
            (
                &["bash", "-eu", "-c", "set -o pipefail; sort \"$1\" | uniq -c | sort -rn > out"],
                "set -o pipefail; sort ..",
            ),
            (&["sh", "-ec", "a\nb"], "a b"),
            (&["sh", "-c", ""], "sh"),
            (&["sh", "script", "-c", "no"], "sh"),
            (&["sh", "-c"], "sh"),
        ] {
            let arguments: Vec<String> = command[1..].iter().map(|&word| word.to_owned()).collect();
            assert_eq!(default_name(command[0], &arguments), name, "{command:?}");
        }
        let long = "x".repeat(100);
        assert_eq!(default_name("sh", &["-c".to_owned(), long]).len(), super::LONGEST);
    }
}
