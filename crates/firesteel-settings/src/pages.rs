//! What the pages of a Master and a Worker show and allow.

use super::keys;
use super::properties::{Properties, SettingError};

/// The settings of a Master's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSettings {
    /// Whether readers may end applications and cluster drivers, and decommission Workers.
    pub may_kill: bool,
    /// The name of the cluster, if it has one.
    pub title: Option<String>,
    /// The URL of Spark's history server, if there is one.
    pub history: Option<String>,
}

const URL: &str = "a URL that begins with http:// or https://";

/// A URL for browsers: one that runs a script is none.
fn url(text: &str) -> Option<String> {
    let is_web = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    is_web.then(|| text.trim_end_matches('/').to_owned())
}

impl PageSettings {
    /// The settings of a Master.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of_master(properties: &Properties) -> Result<Self, SettingError> {
        let may_kill = properties.read(keys::UI_KILL_ENABLED, "true or false", |text| text.parse().ok())?;
        let title = properties.read(keys::MASTER_UI_TITLE, "a name", |text| Some(text.to_owned()))?;
        let history = properties.read(keys::HISTORY_SERVER_URL, URL, url)?;
        Ok(Self {
            may_kill: may_kill.unwrap_or(false),
            title: title.filter(|title| !title.trim().is_empty()),
            history,
        })
    }
}

/// Where links from Spark's executors to their logs lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogLinks {
    /// To the Worker.
    #[default]
    Worker,
    /// To the Master, at this URL if it is known. Source: Spark ExecutorRunner, 4.0.1.
    Master(Option<String>),
}

impl LogLinks {
    /// The settings of a Worker.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let proxied = properties.read(keys::UI_REVERSE_PROXY, "true or false", |text| text.parse().ok())?;
        let at = properties.read(keys::UI_REVERSE_PROXY_URL, URL, url)?;
        Ok(if proxied.unwrap_or(false) { Self::Master(at) } else { Self::Worker })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[&str]) -> Properties {
        Properties::parse(pairs.iter().copied()).expect("they are pairs")
    }

    #[test]
    fn nothing_can_be_changed_unless_the_operator_allows_it() {
        let settings = |pairs: &[&str]| PageSettings::of_master(&properties(pairs));
        assert_eq!(settings(&[]), Ok(PageSettings::default()));
        let pairs = [
            "spark.ui.killEnabled=true",
            "spark.master.ui.title=Blue",
            "spark.master.ui.historyServerUrl=http://h:18080/",
        ];
        let all = PageSettings {
            may_kill: true,
            title: Some("Blue".to_owned()),
            history: Some("http://h:18080".to_owned()),
        };
        assert_eq!(settings(&pairs), Ok(all));
        let error = settings(&["spark.master.ui.historyServerUrl=javascript:alert(1)"]).expect_err("no URL");
        assert!(error.to_string().contains("http://"), "{error}");
    }

    #[test]
    fn links_to_logs_lead_to_the_worker_unless_a_proxy_is_wanted() {
        let links = |pairs: &[&str]| LogLinks::of(&properties(pairs));
        assert_eq!(links(&["spark.ui.reverseProxyUrl=https://p/spark"]), Ok(LogLinks::Worker));
        assert_eq!(links(&["spark.ui.reverseProxy=true"]), Ok(LogLinks::Master(None)));
        let both = ["spark.ui.reverseProxy=true", "spark.ui.reverseProxyUrl=https://p/spark"];
        assert_eq!(links(&both), Ok(LogLinks::Master(Some("https://p/spark".to_owned()))));
    }
}
