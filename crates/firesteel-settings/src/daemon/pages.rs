//! The contents of a Master's and a Worker's pages, and the actions that users may start there.

use crate::keys;
use crate::properties::{Properties, SettingError};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSettings {
    /// Whether users of the pages may end applications and cluster drivers, and decommission Workers.
    pub may_kill: bool,
    /// The name of the cluster, if it has one.
    pub title: Option<String>,
    /// The URL of Spark's history server, if there is one.
    pub history: Option<String>,
    /// Further host names that requests may use for the Master.
    pub hosts: Vec<String>,
}

const URL: &str = "a URL that begins with http:// or https://";

/// Parses a URL for browsers. `None` if the scheme is not HTTP, because other URLs can run a script in the browser.
fn url(text: &str) -> Option<String> {
    let is_web = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    is_web.then(|| text.trim_end_matches('/').to_owned())
}

const HOSTS: &str = "names of hosts without ports, separated by commas";

/// Names of hosts, separated by commas.
fn hosts(text: &str) -> Option<Vec<String>> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
    };
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    names.iter().all(|name| is_name(name)).then_some(names)
}

/// The further host names in this property, and that of the server in front.
pub(super) fn page_hosts(properties: &Properties, key: &'static str) -> Result<Vec<String>, SettingError> {
    let allowed = properties.read(key, HOSTS, hosts)?.unwrap_or_default();
    let proxy = properties.read(keys::UI_REVERSE_PROXY_URL, URL, url)?;
    Ok(allowed.into_iter().chain(proxy.as_deref().map(host_of)).collect())
}

fn host_of(url: impl AsRef<str>) -> String {
    let (_, rest) = url.as_ref().split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default().to_owned()
}

impl PageSettings {
    /// The page settings of a Master.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of_master(properties: &Properties) -> Result<Self, SettingError> {
        let may_kill = properties.read(keys::UI_KILL_ENABLED, "true or false", |text| text.parse().ok())?;
        let title = properties.read(keys::MASTER_UI_TITLE, "a name", |text| Some(text.to_owned()))?;
        let history = properties.read(keys::HISTORY_SERVER_URL, URL, url)?;
        Ok(Self {
            hosts: page_hosts(properties, keys::UI_ALLOWED_HOSTS)?,
            may_kill: may_kill.unwrap_or(false),
            title: title.filter(|title| !title.trim().is_empty()),
            history,
        })
    }
}

/// The destination of the log links of Spark's executors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogLinks {
    /// The links lead to the Worker.
    #[default]
    Worker,
    /// The links lead to the Master, at this URL if it is known. Source: Spark ExecutorRunner, 4.0.1.
    Master(Option<String>),
}

impl LogLinks {
    /// The log links of a Worker.
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
            hosts: Vec::new(),
        };
        assert_eq!(settings(&pairs), Ok(all));
        let error = settings(&["spark.master.ui.historyServerUrl=javascript:alert(1)"]).expect_err("no URL");
        assert!(error.to_string().contains("http://"), "{error}");
    }

    #[test]
    fn readers_may_call_a_master_as_the_operator_says() {
        let hosts =
            |pairs: &[&str]| PageSettings::of_master(&properties(pairs)).map(|settings| settings.hosts);
        let allowed = "firesteel.master.ui.allowedHosts=spark.example.org, m";
        let proxy = "spark.ui.reverseProxyUrl=https://proxy.example.org:8443/spark";
        assert_eq!(
            hosts(&[allowed, proxy]),
            Ok(["spark.example.org", "m", "proxy.example.org"].map(str::to_owned).to_vec())
        );
        for wrong in ["http://m", "m:80", "*", "a,,b"] {
            let error = hosts(&[&format!("firesteel.master.ui.allowedHosts={wrong}")]).expect_err(wrong);
            assert!(error.to_string().contains("without ports"), "{error}");
        }
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
