//! The description of an application in YARN's own records, for a ResourceManager.

use std::collections::BTreeMap;

use firesteel_yarn::credentials::{Credentials, TokenFileFormat};
use firesteel_yarn::messages::application::ApplicationSubmissionContext;
use firesteel_yarn::messages::launch::{
    ApplicationAccessType, ApplicationAclMap, ContainerLaunchContext, LocalResource, LocalResourceType,
    LocalResourceVisibility, LogAggregationContext, StringLocalResourceMap, Url,
};
use firesteel_yarn::messages::master::ResourceRequest;
use firesteel_yarn::messages::records::{ApplicationId, Priority, Resource, StringStringMap};
use firesteel_yarn::messages::resource::ANYWHERE;

use super::application_master::quoting::{self, LOGS};
use super::blueprint::{self, LocalFile, LocalKind, Visibility};
use firesteel_settings::yarn::{MasterSize, Mode, YarnSettings};

/// The maximum length of an application type. Source: Hadoop 3.4.1, which truncates longer types.
const LONGEST_TYPE: usize = 20;

/// The launch context of an ApplicationMaster's container.
#[must_use]
pub fn master_container(
    files: &[LocalFile],
    environment: &BTreeMap<String, String>,
    acls: Vec<ApplicationAclMap>,
) -> ContainerLaunchContext {
    let (binary, told) = (blueprint::BINARY, blueprint::FILE);
    let command = format!("./{binary} application-master --blueprint {told} 1>{LOGS}/stdout 2>{LOGS}/stderr");
    ContainerLaunchContext {
        local_resources: files.iter().map(local_resource).collect(),
        tokens: Some(Credentials::default().write(TokenFileFormat::Writable)),
        environment: environment.iter().map(entry).collect(),
        command: vec![command],
        application_acls: acls,
        ..ContainerLaunchContext::default()
    }
}

/// The access rights to view and to end an application, each in YARN's syntax. `None`: only the submitting user.
#[must_use]
pub fn acls(view: Option<&str>, modify: Option<&str>) -> Vec<ApplicationAclMap> {
    let both = [(ApplicationAccessType::ViewApp, view), (ApplicationAccessType::ModifyApp, modify)];
    let acl = |(access, acl): (ApplicationAccessType, Option<&str>)| {
        Some(ApplicationAclMap { access_type: Some(access.into()), acl: Some(acl?.to_owned()) })
    };
    both.into_iter().filter_map(acl).collect()
}

fn entry((key, value): (&String, &String)) -> StringStringMap {
    StringStringMap { key: Some(key.clone()), value: Some(quoting::value(value)) }
}

/// A file that a NodeManager copies, as a record of YARN.
#[must_use]
pub fn local_resource(file: &LocalFile) -> StringLocalResourceMap {
    let kind = match file.kind {
        LocalKind::File => LocalResourceType::File,
        LocalKind::Archive => LocalResourceType::Archive,
    };
    let visibility = match file.visibility {
        Visibility::Public => LocalResourceVisibility::Public,
        Visibility::Private => LocalResourceVisibility::Private,
        Visibility::Application => LocalResourceVisibility::Application,
    };
    let number = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    StringLocalResourceMap {
        key: Some(file.name.clone()),
        value: Some(LocalResource {
            resource: Some(url(&file.url)),
            size: number(file.size),
            timestamp: number(file.timestamp),
            r#type: Some(kind.into()),
            visibility: Some(visibility.into()),
            pattern: None,
            should_be_uploaded_to_shared_cache: None,
        }),
    }
}

/// Reads a URL such as `hdfs://nn:8020/x` or `file:///x`.
fn url(text: &str) -> Url {
    let (scheme, rest) = text.split_once("://").unwrap_or(("file", text));
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    // The colons of an IPv6 address are in brackets.
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (host, port.parse().unwrap_or(-1)),
        None => (authority, -1),
    };
    Url {
        scheme: Some(scheme.to_owned()),
        host: Some(host.to_owned()).filter(|host| !host.is_empty()),
        port: Some(port),
        file: Some(path.to_owned()),
        user_info: None,
    }
}

#[must_use]
pub fn submission(
    application: ApplicationId,
    name: &str,
    settings: &YarnSettings,
    container: ContainerLaunchContext,
) -> ApplicationSubmissionContext {
    let MasterSize { memory, overhead, cores } = settings.master;
    let resource =
        Resource::new(memory.0.saturating_add(overhead.0), i32::try_from(cores.0).unwrap_or(i32::MAX));
    let count = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let mut context = ApplicationSubmissionContext {
        application_id: Some(application),
        application_name: Some(name.to_owned()),
        queue: Some(settings.queue.clone()),
        priority: settings.priority.map(Priority::new),
        am_container_spec: Some(container),
        unmanaged_am: Some(settings.mode == Mode::Unmanaged),
        max_app_attempts: match settings.mode {
            // It ends with the submitting process.
            Mode::Unmanaged => Some(1),
            Mode::Client | Mode::Cluster => settings.max_attempts.map(count),
        },
        application_type: Some(settings.application_type.chars().take(LONGEST_TYPE).collect()),
        application_tags: settings.tags.iter().cloned().collect(),
        attempt_failures_validity_interval: settings
            .attempt_window
            .map(|window| i64::try_from(window.as_millis()).unwrap_or(i64::MAX)),
        log_aggregation_context: settings.rolled_logs.as_ref().map(|(include, exclude)| {
            LogAggregationContext {
                rolled_logs_include_pattern: Some(include.clone()),
                rolled_logs_exclude_pattern: exclude.clone(),
                ..LogAggregationContext::default()
            }
        }),
        ..ApplicationSubmissionContext::default()
    };
    match &settings.master_label {
        None => context.resource = Some(resource),
        // Only a request has a field for a label.
        Some(label) => {
            let request = ResourceRequest {
                node_label_expression: Some(label.clone()),
                ..ResourceRequest::new(0, ANYWHERE, resource, 1)
            };
            context.am_container_resource_request.push(request);
        }
    }
    context
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_settings::{ApplicationSettings, Properties};

    fn settings(pairs: &[&str]) -> YarnSettings {
        let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
        let application = ApplicationSettings::of(&properties).expect("they can be used");
        YarnSettings::of(&properties, &application).expect("they can be used")
    }

    fn context(pairs: &[&str]) -> ApplicationSubmissionContext {
        submission(ApplicationId::new(1, 7), "sums", &settings(pairs), ContainerLaunchContext::default())
    }

    #[test]
    fn a_container_finds_its_files_and_runs_this_program() {
        let file = LocalFile {
            name: "data".to_owned(),
            url: "file:///shared/0-data".to_owned(),
            size: 8,
            timestamp: 1_700_000_000_123,
            kind: LocalKind::Archive,
            visibility: Visibility::Public,
        };
        let container = master_container(
            &[file],
            &BTreeMap::from([("A".to_owned(), "b $c".to_owned())]),
            acls(Some("ann staff"), None),
        );
        assert_eq!(container.environment[0].value(), r"b \$c", "a shell reads it");
        assert_eq!(
            container.command,
            [
                "./firesteel application-master --blueprint __firesteel__.json 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
            ]
        );
        let [view] = container.application_acls.as_slice() else { panic!("{container:?}") };
        assert_eq!((view.access_type(), view.acl()), (ApplicationAccessType::ViewApp, "ann staff"));
        assert_eq!(container.tokens.as_deref(), Some(&[0x48, 0x44, 0x54, 0x53, 0, 0, 0][..]));
        let resource = container.local_resources[0].value.clone().expect("there is one");
        assert_eq!((resource.size(), resource.timestamp()), (8, 1_700_000_000_123));
        assert_eq!(resource.r#type(), LocalResourceType::Archive);
        assert_eq!(resource.visibility(), LocalResourceVisibility::Public);
        let url = resource.resource.expect("it is somewhere");
        assert_eq!((url.scheme(), url.host(), url.port(), url.file()), ("file", "", -1, "/shared/0-data"));
    }

    #[test]
    fn a_url_has_its_parts() {
        let found = url("hdfs://nn:8020/a/b");
        assert_eq!((found.scheme(), found.host(), found.port(), found.file()), ("hdfs", "nn", 8020, "/a/b"));
        assert_eq!((url("hdfs://nn/a").host(), url("hdfs://nn/a").port()), ("nn", -1));
    }

    #[test]
    fn an_application_is_told_as_it_is_set() {
        let plain = context(&[]);
        assert_eq!((plain.application_name(), plain.queue()), ("sums", "default"));
        assert_eq!((plain.application_type(), plain.unmanaged_am()), ("FIRESTEEL", false));
        assert_eq!((plain.max_app_attempts, plain.priority), (None, None));
        assert_eq!(plain.resource, Some(Resource::new(896, 1)));
        let set = context(&[
            "spark.yarn.queue=etl",
            "spark.yarn.priority=3",
            "spark.yarn.tags=b, a,b",
            "spark.yarn.maxAppAttempts=4",
            "spark.yarn.am.attemptFailuresValidityInterval=1h",
            "spark.yarn.applicationType=A type of many letters",
            "spark.yarn.rolledLog.includePattern=std.*",
        ]);
        assert_eq!((set.queue(), set.priority), ("etl", Some(Priority::new(3))));
        assert_eq!(set.application_tags, ["a", "b"]);
        assert_eq!((set.max_app_attempts(), set.attempt_failures_validity_interval()), (4, 3_600_000));
        assert_eq!(set.application_type(), "A type of many lette");
        assert_eq!(set.log_aggregation_context.expect("it is set").rolled_logs_include_pattern(), "std.*");
    }

    #[test]
    fn an_application_master_with_a_label_or_in_no_container_is_asked_for_in_its_own_way() {
        let labelled = context(&["spark.yarn.am.nodeLabelExpression=gold"]);
        let request = &labelled.am_container_resource_request[0];
        assert_eq!((request.resource_name(), request.num_containers()), ("*", 1));
        assert_eq!((request.node_label_expression(), labelled.resource), ("gold", None));
        let unmanaged = context(&["spark.yarn.unmanagedAM.enabled=true", "spark.yarn.maxAppAttempts=4"]);
        assert_eq!((unmanaged.unmanaged_am(), unmanaged.max_app_attempts()), (true, 1));
    }
}
