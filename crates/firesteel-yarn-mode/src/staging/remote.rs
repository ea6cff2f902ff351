//! Files that are already on HDFS and stay there: NodeManagers fetch them from HDFS.

use firesteel_protocol::messages::is_file_name;

use super::shared_path::SharedPath;
use super::{StagingError, taken};
use crate::blueprint::{LocalFile, LocalKind};
use crate::hadoop_conf::HadoopConf;
use firesteel_settings::keys;

/// The suffixes of archives that NodeManagers unpack. Source: Hadoop 3.4.1.
const ARCHIVES: [&str; 5] = [".tar", ".tar.gz", ".tgz", ".zip", ".jar"];

/// A file on HDFS that an application brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    location: SharedPath,
    name: String,
    kind: LocalKind,
}

/// Whether a value of `--files` is a file on HDFS: `hdfs://HOST/PATH`, `hdfs:///PATH#NAME`.
#[must_use]
pub fn is_remote(word: &str) -> bool {
    word.starts_with("hdfs:")
}

impl RemoteFile {
    /// Finds the HDFS files among the application's files and archives. HDFS is accessed as this user.
    ///
    /// # Errors
    /// HDFS is not supported, or a name cannot be used in a container.
    pub fn find_in(
        files: &[String],
        archives: &[String],
        user: &str,
        conf: &HadoopConf,
    ) -> Result<Vec<Self>, StagingError> {
        let files = files.iter().map(|word| (word, LocalKind::File, keys::FILES));
        let archives = archives.iter().map(|word| (word, LocalKind::Archive, keys::ARCHIVES));
        let remote = files.chain(archives).filter(|(word, ..)| is_remote(word));
        remote.map(|(word, kind, key)| Self::of(word, kind, key, user, conf)).collect()
    }

    fn of(
        word: &str,
        kind: LocalKind,
        key: &'static str,
        user: &str,
        conf: &HadoopConf,
    ) -> Result<Self, StagingError> {
        let (location, name) = match word.rsplit_once('#') {
            Some((location, name)) => (location, name),
            None => (word, word.rsplit('/').next().unwrap_or_default()),
        };
        if !is_file_name(name) {
            return Err(StagingError::Name { word: word.to_owned(), name: name.to_owned() });
        }
        let is_archive = |end: &&str| location.to_ascii_lowercase().ends_with(*end);
        if kind == LocalKind::Archive && !ARCHIVES.iter().any(is_archive) {
            return Err(StagingError::Format { word: word.to_owned() });
        }
        taken(name)?;
        Ok(Self { location: SharedPath::parse(location, key, user, conf)?, name: name.to_owned(), kind })
    }

    /// The description of the file for a NodeManager.
    ///
    /// # Errors
    /// The file does not exist, or HDFS does not answer.
    pub fn described(&self) -> Result<LocalFile, StagingError> {
        self.location.described(&self.name, self.kind)
    }
}

#[cfg(all(test, feature = "hdfs"))]
mod tests {
    use super::*;

    fn found(files: &[&str], archives: &[&str]) -> Result<Vec<(String, String)>, String> {
        let owned = |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
        let conf = HadoopConf::of([("fs.defaultFS", "hdfs://nn:9000")]);
        let found = RemoteFile::find_in(&owned(files), &owned(archives), "ann", &conf);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|file| (file.name, file.location.to_string())).collect())
    }

    #[test]
    fn files_on_hdfs_are_found_among_others() {
        let pair = |name: &str, location: &str| (name.to_owned(), location.to_owned());
        assert_eq!(
            found(&["a.txt", "hdfs://other/d/x", "hdfs:///d/y#z"], &["b.zip", "hdfs:///e.tar.gz#e"]),
            Ok(vec![
                pair("x", "hdfs://other/d/x"),
                pair("z", "hdfs://nn:9000/d/y"),
                pair("e", "hdfs://nn:9000/e.tar.gz"),
            ])
        );
        assert!(found(&["hdfs://nn/d/"], &[]).expect_err("it has no name").contains("PATH#NAME"));
        assert!(found(&["hdfs://nn/firesteel"], &[]).expect_err("it is taken").contains("\"firesteel\""));
        assert!(found(&[], &["hdfs://nn/e.rar"]).expect_err("nobody unpacks it").contains(".tar.gz"));
    }
}
