//! Makes a task from an item.

use bytes::Bytes;
use firesteel_engine::driver::TaskRequest;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Command;

use super::items::{Content, MAX_ARGUMENT};
use firesteel_engine::driver::TaskNeeds;

/// The placeholder for the item in an argument of the command.
pub const PLACEHOLDER: &str = "{}";

/// The common part of the tasks of all items.
#[derive(Clone, Debug)]
pub struct Template {
    command: Command,
    directory: TaskDirectory,
    needs: TaskNeeds,
    position: ItemPosition,
}

/// The position of the item in the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemPosition {
    Placeholders,
    LastArgument,
}

/// An argument that is too long for any program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an argument with the item has {length} bytes, and at most {MAX_ARGUMENT} are possible")]
pub struct ArgumentTooLong {
    pub length: usize,
}

impl Template {
    /// Creates a template for tasks that run the command in this directory, with these needs. The item replaces each
    /// `{}` in each argument. If no argument contains `{}`, the item becomes the last argument.
    #[must_use]
    pub fn new(command: Command, directory: TaskDirectory, needs: TaskNeeds) -> Self {
        let placeholders = command.program.contains(PLACEHOLDER)
            || command.arguments.iter().any(|word| word.contains(PLACEHOLDER));
        let position = if placeholders { ItemPosition::Placeholders } else { ItemPosition::LastArgument };
        Self { command, directory, needs, position }
    }

    /// The resource profile of the executors that run these tasks.
    #[must_use]
    pub fn profile(&self) -> ProfileId {
        self.needs.profile
    }

    /// The task of one item. A block goes to standard input and leaves the arguments unchanged.
    ///
    /// # Errors
    /// An argument becomes longer than the system allows.
    pub fn task(&self, content: Content) -> Result<TaskRequest, ArgumentTooLong> {
        let mut command = self.command.clone();
        let stdin = match content {
            Content::Block { bytes, .. } => bytes,
            Content::Argument(item) => {
                match self.position {
                    ItemPosition::LastArgument => command.arguments.push(item),
                    ItemPosition::Placeholders => {
                        fill(&mut command.program, &item)?;
                        command.arguments.iter_mut().try_for_each(|word| fill(word, &item))?;
                    }
                }
                Bytes::new()
            }
        };
        Ok(self.needs.clone().request(command, self.directory.clone(), stdin))
    }
}

fn fill(word: &mut String, item: &str) -> Result<(), ArgumentTooLong> {
    let placeholders = word.matches(PLACEHOLDER).count();
    if placeholders == 0 {
        return Ok(());
    }
    let length = |text: &str| byte_text::bytes(text).len();
    let length = length(word) - placeholders * PLACEHOLDER.len() + placeholders * length(item);
    if length > MAX_ARGUMENT {
        return Err(ArgumentTooLong { length });
    }
    *word = word.replace(PLACEHOLDER, item);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use firesteel_placement::Cores;

    use super::*;

    fn needs(cores: i64) -> TaskNeeds {
        TaskNeeds { cores: Cores(cores), ..TaskNeeds::default() }
    }

    fn words(command: &[&str], item: &str) -> Result<Vec<String>, ArgumentTooLong> {
        let (program, arguments) = command.split_first().expect("a program");
        let command = Command {
            program: (*program).into(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: BTreeMap::new(),
        };
        let template = Template::new(command, TaskDirectory::Executor, needs(1));
        let command = template.task(Content::Argument(item.into()))?.spec.command;
        Ok([vec![command.program], command.arguments].concat())
    }

    #[test]
    fn the_item_fills_every_hole_or_comes_last() {
        for (command, item, expected) in [
            (&["echo"][..], "a", &["echo", "a"][..]),
            (&["echo", "-n"], "", &["echo", "-n", ""]),
            (&["cp", "{}", "{}.old"], "a b", &["cp", "a b", "a b.old"]),
            (&["{}", "x{}{}y"], "run", &["run", "xrunruny"]),
            (&["sh", "-c", "echo {}"], "{}", &["sh", "-c", "echo {}"]),
            (&["awk", "{print}"], "f", &["awk", "{print}", "f"]),
        ] {
            assert_eq!(words(command, item), Ok(expected.iter().map(ToString::to_string).collect()));
        }
    }

    #[test]
    fn a_word_that_grows_too_long_is_refused() {
        let item = "x".repeat(MAX_ARGUMENT / 2);
        assert!(words(&["echo", "{}{}"], &item).is_ok());
        assert_eq!(words(&["echo", "{} {} "], &item), Err(ArgumentTooLong { length: MAX_ARGUMENT + 1 }));
    }

    #[test]
    fn a_block_is_standard_input_and_leaves_the_words_alone() {
        let command = Command {
            program: "awk".into(),
            arguments: vec!["{}".into()],
            environment: BTreeMap::from([("A".into(), "b".into())]),
        };
        let directory = TaskDirectory::Path("/d".into());
        let template = Template::new(command.clone(), directory.clone(), needs(2));
        let bytes = Bytes::from_static(b"1\n2\n");
        let task = template.task(Content::Block { first: 1, last: 2, bytes: bytes.clone() });
        assert_eq!(task, Ok(needs(2).request(command, directory, bytes)));
    }
}
