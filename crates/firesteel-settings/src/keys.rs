//! The properties that Firesteel reads, in one table. `--help`, man pages, `firesteel config`, docs/SETTINGS.md and the
//! warnings about unknown properties are generated from it.
//!
//! A row has the meaning (also the constant's documentation), the constant, the name, its readers, and the default:
//! `Value("60s")` as it would be written, or `Otherwise("no limit")` in words. Meanings that begin with `On YARN` are
//! listed for YARN. After a new row run `UPDATE_GOLDEN=1 cargo test -p firesteel --test e2e settings`.

use firesteel_placement::{policy_names, worker_order_names};

use super::key::Default::{Otherwise, Value};
use super::key::Reader::{Application, Master, Worker};
use super::key::{Key, matched};

macro_rules! table {
    ($($(#[doc = $meaning:expr])+ $constant:ident: $name:literal, [$($reader:ident),+], $default:expr;)+) => {
        $(#[allow(rustdoc::broken_intra_doc_links, reason = "help, not Markdown: brackets are no links")]
        $(#[doc = $meaning])+ pub const $constant: &str = $name;)+

        /// The rows of this file, in the order of the source.
        static TABLE: &[Key] = &[
            $(Key {
                name: $name,
                readers: &[$($reader),+],
                default: $default,
                doc: concat!($($meaning),+),
            },)+
        ];
    };
}

mod yarn;

pub use yarn::*;

table! {
    /// A Worker that sends no heartbeat for this long is lost.
    WORKER_TIMEOUT: "spark.worker.timeout", [Master], Value("60s");
    /// Whether to spread an application's executors over many Workers (true) or to fill few Workers (false).
    SPREAD_OUT: "spark.deploy.spreadOutApps", [Master], Value("true");
    /// Deprecated name of spark.deploy.spreadOutApps, which takes precedence.
    SPREAD_OUT_OLD: "spark.deploy.spreadOut", [Master], Otherwise("not set");
    #[doc = concat!("Order in which Workers are chosen: ", worker_order_names!(), ".")]
    WORKER_ORDER: "spark.deploy.workerSelectionPolicy", [Master], Value("CORES_FREE_DESC");
    #[doc = concat!("Rule that chooses Workers: ", policy_names!(), "; for a Master also expr:..")]
    PLACEMENT_POLICY: "firesteel.placement.policy", [Master, Application], Otherwise("spark for a Master; the Master's policy for an application");
    /// Maximum cores of an application that does not set spark.cores.max.
    DEFAULT_CORES: "spark.deploy.defaultCores", [Master], Otherwise("no limit");
    /// The Master ends an application after this many failed executors in a row; -1 means never.
    MAX_EXECUTOR_RETRIES: "spark.deploy.maxExecutorRetries", [Master], Value("10");
    /// File of secrets (`firesteel secret`): connections prove one and are encrypted, and HTTP needs a password.
    CREDENTIALS_FILE: "firesteel.credentials.file", [Master, Worker, Application], Otherwise("none: everybody who can connect is served");
    /// Until this time peers that show no secret are admitted beside the credentials, as without any.
    CREDENTIALS_OPTIONAL_UNTIL: "firesteel.credentials.optionalUntil", [Master, Worker], Otherwise("everybody needs a secret");
    /// Whether peers must prove a secret: with credentials they always must, without them nothing starts with this.
    AUTHENTICATE: "spark.authenticate", [Master, Worker, Application], Value("false");
    /// A secret that Spark's applications may have, beside those of the credentials.
    AUTHENTICATE_SECRET: "spark.authenticate.secret", [Master], Otherwise("none: only those of the credentials");
    /// Whether Spark's applications must encrypt their connections to Masters and Workers, with Spark's AES engine.
    CRYPTO: "spark.network.crypto.enabled", [Master, Worker], Value("false");
    /// What is asked before the pages: org.apache.spark.ui.JWSFilter asks for a token. There are no other filters.
    UI_FILTERS: "spark.ui.filters", [Master, Worker], Otherwise("none");
    /// What is asked before submissions by REST: org.apache.spark.ui.JWSFilter asks for a token.
    REST_FILTERS: "spark.master.rest.filters", [Master], Otherwise("none");
    /// Java patterns, separated by commas, of what may be submitted by REST: one must match the whole appResource.
    REST_RESOURCES: "spark.master.rest.allowedAppResourcePatterns", [Master], Otherwise("none: everything may be");
    /// The secretKey (earlier: key) of the tokens that JWSFilter admits, for HS256: base64url, at least 256 bits.
    TOKEN_KEY: "spark.org.apache.spark.ui.JWSFilter.param.NAME", [Master, Worker], Otherwise("not set");
    /// Whether pages, JSON and metrics are served by HTTPS alone. REST is served in the clear.
    TLS: "spark.ssl.standalone.enabled", [Master, Worker], Value("false");
    /// PEM file with the certificate of the pages, and after it those of authorities that clients do not know.
    TLS_CERTIFICATES: "spark.ssl.standalone.certChain", [Master, Worker], Otherwise("not set");
    /// PEM file with the private key of the pages' certificate.
    TLS_PRIVATE_KEY: "spark.ssl.standalone.privateKey", [Master, Worker], Otherwise("not set");
    /// Whether readers of the pages need a certificate.
    TLS_CLIENTS: "spark.ssl.standalone.needClientAuth", [Master, Worker], Value("false");
    /// PEM file with the authorities of the readers' certificates.
    TLS_AUTHORITIES: "spark.ssl.standalone.trustStore", [Master, Worker], Otherwise("not set");
    /// Whether Spark's applications (4.0 and later) must connect by TLS, and the Master to them.
    RPC_TLS: "spark.ssl.rpc.enabled", [Master, Worker], Value("false");
    /// PEM file with the certificate that Spark's applications are shown, and after it those between it and theirs.
    RPC_TLS_CERTIFICATES: "spark.ssl.rpc.certChain", [Master, Worker], Otherwise("not set");
    /// PEM file with the private key of that certificate.
    RPC_TLS_PRIVATE_KEY: "spark.ssl.rpc.privateKey", [Master, Worker], Otherwise("not set");
    /// Whether Spark's applications need a certificate, too.
    RPC_TLS_CLIENTS: "spark.ssl.rpc.needClientAuth", [Master, Worker], Value("false");
    /// PEM file with the authorities of the applications' certificates. A Master needs it, since it also connects to
    /// them.
    RPC_TLS_AUTHORITIES: "spark.ssl.rpc.trustStore", [Master, Worker], Otherwise("not set");
    /// Password of the key stores of Spark's applications: their executors get it in a variable.
    KEY_STORE_PASSWORD: "spark.ssl.rpc.keyStorePassword", [Worker], Otherwise("not set");
    /// The same for the keys in the key stores.
    KEY_PASSWORD: "spark.ssl.rpc.keyPassword", [Worker], Otherwise("spark.ssl.rpc.keyStorePassword");
    /// The same for the trust stores.
    TRUST_STORE_PASSWORD: "spark.ssl.rpc.trustStorePassword", [Worker], Otherwise("not set");
    /// The same for the private keys in PEM files.
    PRIVATE_KEY_PASSWORD: "spark.ssl.rpc.privateKeyPassword", [Worker], Otherwise("not set");
    /// Whether Spark's applications may leave connections in the clear although they must encrypt them.
    SASL_FALLBACK: "spark.network.crypto.saslFallback", [Master, Worker], Value("false");
    /// Whether to listen without credentials at addresses that other machines reach. Anyone who can connect there can
    /// run programs.
    INSECURE: "firesteel.insecure", [Master, Worker], Value("false");
    /// Where the Master keeps its state: FILESYSTEM or ROCKSDB (the same: a journal), ZOOKEEPER (with standby Masters),
    /// or NONE.
    RECOVERY_MODE: "spark.deploy.recoveryMode", [Master], Value("FILESYSTEM");
    /// Directory of the Master's journal; only its owner can read it. One Master uses it at a time.
    RECOVERY_DIRECTORY: "spark.deploy.recoveryDirectory", [Master], Otherwise("recovery-PORT in the working directory; none with --port 0");
    /// Servers of ZooKeeper, HOST[:PORT][,HOST[:PORT]..][/CHROOT], for spark.deploy.recoveryMode=ZOOKEEPER.
    ZOOKEEPER_URL: "spark.deploy.zookeeper.url", [Master], Otherwise("not set");
    /// Node of ZooKeeper below which the Masters keep what they share; Masters with the same one belong together.
    ZOOKEEPER_DIR: "spark.deploy.zookeeper.dir", [Master], Value("/spark");
    /// How long the leading Master may be silent before ZooKeeper lets another one lead; ZooKeeper keeps it within 2 to
    /// 20 of its ticks.
    ZOOKEEPER_SESSION: "firesteel.master.zookeeper.sessionTimeout", [Master], Value("4s");
    /// Name and password, USER:PASSWORD, by which the Masters keep others away from their nodes (scheme digest).
    ZOOKEEPER_PASSWORD: "firesteel.master.zookeeper.password", [Master], Otherwise("none: everybody who reaches ZooKeeper can read and change them");
    /// How long a restarted Master waits for Workers and drivers to return before they count as lost.
    RECOVERY_TIMEOUT: "spark.deploy.recoveryTimeout", [Master], Otherwise("spark.worker.timeout");
    /// How long a Worker or driver whose connection ended without a goodbye may be away before it is lost; 0: lost at
    /// once, as in Spark.
    AWAY_TIMEOUT: "firesteel.master.awayTimeout", [Master], Otherwise("half of spark.worker.timeout");
    /// Number of ended applications that stay listed.
    RETAINED_APPLICATIONS: "spark.deploy.retainedApplications", [Master], Value("200");
    /// How long ago what the history has may have ended; the latest that stay listed are there in any case.
    HISTORY_MAX_AGE: "firesteel.master.history.maxAge", [Master], Value("30d");
    /// Length of the history; beyond it the oldest rows are dropped.
    HISTORY_MAX_SIZE: "firesteel.master.history.maxSize", [Master], Value("4m");
    /// Whether to give cluster drivers to one Worker after the other (true) or each to the first Worker by id that has
    /// room (false).
    SPREAD_OUT_DRIVERS: "spark.deploy.spreadOutDrivers", [Master], Value("true");
    /// Maximum number of cluster drivers that run at a time; others wait.
    MAX_DRIVERS: "spark.deploy.maxDrivers", [Master], Otherwise("no limit");
    /// Number of ended cluster drivers that stay listed.
    RETAINED_DRIVERS: "spark.deploy.retainedDrivers", [Master], Value("200");
    /// How long a lost Worker stays listed, in multiples of spark.worker.timeout.
    DEAD_WORKER_PERSISTENCE: "spark.dead.worker.persistence", [Master], Value("15");
    /// An executor that runs this long no longer counts as a failed start (see spark.deploy.maxExecutorRetries).
    PROVEN_AFTER: "firesteel.executor.provenAfter", [Master], Value("5s");
    /// How long a Worker is excluded for an application after its first failed start there; doubled by each further
    /// failure; 0: never.
    EXCLUSION_DELAY: "firesteel.master.exclusion.delay", [Master], Value("1s");
    /// Longest time that a Worker is excluded for an application.
    EXCLUSION_MAX_DELAY: "firesteel.master.exclusion.maxDelay", [Master], Value("60s");

    /// Port at which the Master serves HTTP: pages, JSON, health and metrics; 0: any free one; none: no HTTP
    /// (--webui-port).
    MASTER_UI_PORT: "spark.master.ui.port", [Master], Otherwise("8080; any free one with --port 0");
    /// Whether the Master takes cluster drivers by Spark's REST protocol. Whoever reaches the port can run programs on
    /// Workers.
    REST_ENABLED: "spark.master.rest.enabled", [Master], Value("false");
    /// Port for Spark's REST protocol; 0: any free one.
    REST_PORT: "spark.master.rest.port", [Master], Value("6066");
    /// Host or address that the port for REST listens on.
    REST_HOST: "spark.master.rest.host", [Master], Otherwise("the Master's");
    /// Port of the Worker's pages, JSON, health and metrics; 0: any free one; none: no HTTP (--webui-port).
    WORKER_UI_PORT: "spark.worker.ui.port", [Worker], Otherwise("8081; any free one with --port 0");
    /// Name of the cluster at the top of the Master's page.
    MASTER_UI_TITLE: "spark.master.ui.title", [Master], Otherwise("Cluster");
    /// URL of Spark's history server; pages of the Master link to it.
    HISTORY_SERVER_URL: "spark.master.ui.historyServerUrl", [Master], Otherwise("not set");
    /// Whether readers of the Master's pages may end applications and cluster drivers and decommission Workers.
    UI_KILL_ENABLED: "spark.ui.killEnabled", [Master], Value("false");
    /// Further names of hosts, separated by commas, by which readers call the Master; it refuses others.
    UI_ALLOWED_HOSTS: "firesteel.master.ui.allowedHosts", [Master], Otherwise("addresses, localhost, names of the Master and its machine");
    /// Hosts and networks, separated by commas, that the Master connects to although their peers connect from
    /// elsewhere; *: all.
    ALLOWED_PEERS: "firesteel.master.allowedPeers", [Master], Otherwise("none: peers are where they have connected from");
    /// Further names of hosts, separated by commas, by which readers call the Worker; it refuses others.
    WORKER_UI_ALLOWED_HOSTS: "firesteel.worker.ui.allowedHosts", [Worker], Otherwise("addresses, localhost, names of the Worker and its machine");
    /// Whether links from Spark's executors to their logs lead to the Master instead of the Worker, which readers then
    /// need not reach.
    UI_REVERSE_PROXY: "spark.ui.reverseProxy", [Worker], Value("false");
    /// URL of the Master's pages behind another server, for the links of spark.ui.reverseProxy; its host may be used to
    /// call the Master.
    UI_REVERSE_PROXY_URL: "spark.ui.reverseProxyUrl", [Master, Worker], Otherwise("not set");
    /// Number of further ports to try if the port for HTTP is in use.
    PORT_MAX_RETRIES: "spark.port.maxRetries", [Master, Worker], Value("16");

    /// Queues that share the cluster by weight, such as prod=3,dev=1; an application chooses one with --queue.
    QUEUES: "firesteel.master.queues", [Master], Otherwise("no queues: first come, first served");
    /// Whether applications behind a waiting gang may use what is not reserved for it.
    BACKFILL: "firesteel.master.backfill", [Master], Value("true");
    /// Maximum number of waiting gangs with reserved room; after the first, only if enough of what runs says how long
    /// it runs.
    RESERVATIONS: "firesteel.master.reservations", [Master], Value("1");
    /// Order of applications with the same queue and priority: registration, or shortest, which uses
    /// firesteel.app.runTime.
    ORDER: "firesteel.master.order", [Master], Value("registration");

    /// Whether executors may have a part of an address of a custom resource, such as gpu=0.25, so that several share
    /// it.
    RESOURCE_SHARES: "firesteel.master.resourceShares", [Master], Value("false");

    /// Maximum number of lower-priority executors to end for one application per interval; 0 turns preemption off.
    PREEMPTION: "firesteel.master.preemption", [Master], Value("0");
    /// Interval of firesteel.master.preemption.
    PREEMPTION_INTERVAL: "firesteel.master.preemption.interval", [Master], Value("60s");
    /// How long a gang waits before executors that were launched meanwhile for applications behind it are ended for it,
    /// too.
    GANG_PATIENCE: "firesteel.master.preemption.gangPatience", [Master], Otherwise("none is ended");
    /// After gangPatience, also end executors behind a gang that were launched at most this long before it registered.
    GANG_REACH: "firesteel.master.preemption.gangReach", [Master], Value("0s");

    /// Maximum live applications and cluster drivers of one user; the Master refuses further ones.
    USER_APPLICATIONS: "firesteel.user.maxApplications", [Master], Otherwise("no limit");
    /// Maximum applications and cluster drivers that one user submits in a second; the Master refuses further ones.
    USER_SUBMISSIONS: "firesteel.user.maxSubmissions", [Master], Otherwise("no limit");
    /// Maximum cores of all executors and cluster drivers of one user; further ones wait.
    USER_CORES: "firesteel.user.maxCores", [Master], Otherwise("no limit");
    /// Maximum memory of all executors and cluster drivers of one user; further ones wait.
    USER_MEMORY: "firesteel.user.maxMemory", [Master], Otherwise("no limit");
    /// Maximum number of executors and cluster drivers of one user; further ones wait.
    USER_EXECUTORS: "firesteel.user.maxExecutors", [Master], Otherwise("no limit");
    /// Maximum number of living Workers; the Master refuses further ones.
    MAX_WORKERS: "firesteel.master.maxWorkers", [Master], Value("100000");
    /// Maximum number of live applications; the Master refuses further ones.
    MAX_APPLICATIONS: "firesteel.master.maxApplications", [Master], Value("100000");
    /// Maximum cores of a Worker; the Master refuses a Worker that claims more.
    MAX_WORKER_CORES: "firesteel.master.maxWorkerCores", [Master], Value("4096");
    /// Maximum memory of a Worker; the Master refuses a Worker that claims more.
    MAX_WORKER_MEMORY: "firesteel.master.maxWorkerMemory", [Master], Value("64t");
    /// Maximum number of addresses of a Worker's custom resources; the Master refuses a Worker that claims more.
    MAX_WORKER_ADDRESSES: "firesteel.master.maxWorkerAddresses", [Master], Value("4096");
    /// Maximum number of executors that a Worker lists when it registers; the Master refuses a Worker that lists more.
    MAX_WORKER_EXECUTORS: "firesteel.master.maxWorkerExecutors", [Master], Value("100000");
    /// Maximum bytes of a name, host, directory or address in a registration; the Master refuses longer ones.
    MAX_TEXT_LENGTH: "firesteel.master.maxTextLength", [Master], Value("4096");

    /// Memory of the Master for what others send: half for what live applications describe, an eighth for messages that
    /// arrive.
    MASTER_MEMORY: "firesteel.master.memory", [Master], Otherwise("half of what the machine, the control group and `ulimit` allow");

    /// Number of attempts to register with a Master before the Worker gives up.
    MAX_REGISTRATION_RETRIES: "spark.worker.maxRegistrationRetries", [Worker], Value("16");
    /// Time between SIGTERM and SIGKILL when an executor is ended.
    KILL_GRACE: "firesteel.worker.killGrace", [Worker], Value("10s");
    /// Time between SIGTERM and SIGKILL when a cluster driver is ended.
    DRIVER_KILL_GRACE: "spark.worker.driverTerminateTimeout", [Worker], Value("10s");
    /// Whether each executor gets a control group (cgroup version 2) where the Worker may make one.
    CONTROL_GROUPS: "firesteel.worker.controlGroups", [Worker], Value("true");
    /// Whether programs of executors may gain privileges, for example by sudo.
    GAIN_PRIVILEGES: "firesteel.worker.gainPrivileges", [Worker], Value("false");
    /// Account under which executors and cluster drivers run, or * for that of their proven user; needs root.
    RUN_AS: "firesteel.worker.runAs", [Worker], Otherwise("the Worker's own");
    /// Whether executors and cluster drivers read the system only, and write in directories of their own (Landlock).
    CONFINED: "firesteel.worker.confined", [Worker], Value("false");
    /// What confined programs may read, too: absolute paths, separated by commas.
    READABLE_PATHS: "firesteel.worker.readablePaths", [Worker], Otherwise("none");
    /// What confined programs may read and write, too: absolute paths, separated by commas.
    WRITABLE_PATHS: "firesteel.worker.writablePaths", [Worker], Otherwise("none");

    /// Whether to remove the directories of what has ended (spark.worker.cleanup.*, firesteel.worker.cleanup.*).
    CLEANUP_ENABLED: "spark.worker.cleanup.enabled", [Worker], Value("true");
    /// Time between two searches for directories to remove.
    CLEANUP_INTERVAL: "spark.worker.cleanup.interval", [Worker], Value("1800s");
    /// Remove a directory in which nothing was written for this long.
    CLEANUP_TTL: "spark.worker.cleanup.appDataTtl", [Worker], Value("604800s");
    /// Number of ended executors whose directories are kept, at least 1; beyond it the oldest are removed.
    CLEANUP_EXECUTORS: "firesteel.worker.cleanup.maxExecutors", [Worker], Value("10000");
    /// Length of all files in directories of ended executors; beyond it the oldest are removed, except the latest.
    CLEANUP_SIZE: "firesteel.worker.cleanup.maxSize", [Worker], Value("100g");
    /// Used part of the work directory's disk, in percent, above which the Worker is given nothing new; 100 for no
    /// limit.
    MAX_DISK_USAGE: "firesteel.worker.maxDiskUsage", [Worker], Value("95");
    /// An executor or cluster driver with more memory than granted and this part of it (at least 384 MiB) is killed.
    WORKER_OVERHEAD_FACTOR: "firesteel.worker.memoryOverheadFactor", [Worker], Otherwise("no limit");
    /// An executor or cluster driver with more threads than this is killed, or gets no more from the kernel.
    MAX_THREADS: "firesteel.worker.maxThreads", [Worker], Otherwise("no limit");
    /// An executor or cluster driver whose output and scratch files are longer than this is killed.
    MAX_DISK_SIZE: "firesteel.worker.maxDiskSize", [Worker], Otherwise("no limit");
    /// Whether an executor or cluster driver uses no more processor time than its granted cores (control groups).
    CPU_QUOTA: "firesteel.worker.cpuQuota", [Worker], Value("false");
    /// Spark installations, separated by commas; a Spark executor uses the first one that matches its driver's release.
    SPARK_HOMES: "firesteel.worker.sparkHomes", [Worker], Otherwise("$SPARK_HOME");
    /// Directories for the scratch files of Spark's executors, separated by commas.
    LOCAL_DIRECTORIES: "spark.local.dir", [Worker], Otherwise("the system's temporary directory");
    /// Whether the Worker runs Spark's external shuffle service, that of the first of firesteel.worker.sparkHomes.
    SHUFFLE_SERVICE: "spark.shuffle.service.enabled", [Worker], Value("false");
    /// Port of the external shuffle service; applications must set the same.
    SHUFFLE_SERVICE_PORT: "spark.shuffle.service.port", [Worker], Value("7337");
    /// Whether a restarted external shuffle service still knows the executors that registered before.
    SHUFFLE_SERVICE_DB: "spark.shuffle.service.db.enabled", [Worker], Value("true");
    /// Any other property spark.shuffle.*: the Worker passes it on to the external shuffle service.
    SHUFFLE: "spark.shuffle.NAME", [Worker], Otherwise("Spark's");
    /// Number of ended executors that stay listed.
    RETAINED_EXECUTORS: "spark.worker.ui.retainedExecutors", [Worker], Value("1000");
    /// When to roll over an executor's log to a new file: time or size.
    ROLLING_STRATEGY: "spark.executor.logs.rolling.strategy", [Worker], Otherwise("never");
    /// With strategy time: daily, hourly, minutely, or a number of seconds, at least 60.
    ROLLING_INTERVAL: "spark.executor.logs.rolling.time.interval", [Worker], Value("daily");
    /// With strategy size: maximum bytes per file, at least 80 KiB.
    ROLLING_SIZE: "spark.executor.logs.rolling.maxSize", [Worker], Value("1048576");
    /// Number of rolled files to keep per log; -1 keeps all.
    ROLLING_RETAINED: "spark.executor.logs.rolling.maxRetainedFiles", [Worker], Value("-1");
    /// Whether to compress rolled files.
    ROLLING_COMPRESSION: "spark.executor.logs.rolling.enableCompression", [Worker], Value("false");

    /// Name of the application (--name).
    APP_NAME: "spark.app.name", [Application], Otherwise("the program, or the first words of the script of sh -c");
    /// Master (--master): spark://HOST:PORT[,HOST:PORT..]; for an application also yarn or
    /// local-cluster[WORKERS,CORES,MIB].
    MASTER: "spark.master", [Application, Worker], Otherwise("none; applications start a local cluster that fits this machine");
    /// Cores of all executors together (--total-executor-cores).
    CORES_MAX: "spark.cores.max", [Application], Otherwise("the Master's spark.deploy.defaultCores");
    /// Cores of each executor (--executor-cores).
    EXECUTOR_CORES: "spark.executor.cores", [Application], Otherwise("all of a Worker, one executor on each");
    /// Memory of each executor (--executor-memory).
    EXECUTOR_MEMORY: "spark.executor.memory", [Application], Value("1g");
    /// Number of executors (--num-executors); Spark's Standalone mode counts only cores.
    EXECUTOR_INSTANCES: "spark.executor.instances", [Application], Otherwise("as many as the cores allow");
    /// The Master's queue for the application (--queue).
    QUEUE: "firesteel.app.queue", [Application], Otherwise("default, or the first queue");
    /// Priority in the queue; higher numbers run first (--priority).
    PRIORITY: "firesteel.app.priority", [Application], Value("0");
    /// Start this many executors together, and none until all of them fit (--gang); further ones start one by one.
    GANG: "firesteel.app.gang", [Application], Value("1");
    /// How long the application will run after it has started, an estimate such as 10m (--run-time); it is not a limit.
    RUN_TIME: "firesteel.app.runTime", [Application], Otherwise("not known");
    /// Whether the number of executors follows the work; otherwise it is fixed.
    DYNAMIC_ALLOCATION: "spark.dynamicAllocation.enabled", [Application], Value("false");
    /// Minimum number of executors with dynamic allocation.
    MIN_EXECUTORS: "spark.dynamicAllocation.minExecutors", [Application], Value("0");
    /// Maximum number of executors with dynamic allocation.
    MAX_EXECUTORS: "spark.dynamicAllocation.maxExecutors", [Application], Value("infinity");
    /// Initial number of executors with dynamic allocation, if greater than spark.executor.instances.
    INITIAL_EXECUTORS: "spark.dynamicAllocation.initialExecutors", [Application], Otherwise("spark.dynamicAllocation.minExecutors");
    /// Dynamic allocation requests executors when tasks have waited this long.
    BACKLOG_TIMEOUT: "spark.dynamicAllocation.schedulerBacklogTimeout", [Application], Value("1s");
    /// Interval of further requests while tasks still wait; each one doubles the number of executors that are added.
    SUSTAINED_BACKLOG_TIMEOUT: "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout", [Application], Otherwise("spark.dynamicAllocation.schedulerBacklogTimeout");
    /// Dynamic allocation ends an executor that had no task for this long.
    IDLE_TIMEOUT: "spark.dynamicAllocation.executorIdleTimeout", [Application], Value("60s");
    /// Fraction of the executors needed to run all tasks at once that dynamic allocation requests.
    ALLOCATION_RATIO: "spark.dynamicAllocation.executorAllocationRatio", [Application], Value("1");
    /// Amount of a custom resource on a Worker, such as gpu, with the addresses 0, 1 and so on (--resource sets
    /// others).
    WORKER_RESOURCE: "spark.worker.resource.NAME.amount", [Worker], Otherwise("none");
    /// Program that prints the addresses of a custom resource as JSON; at least the amount.
    DISCOVERY_SCRIPT: "spark.worker.resource.NAME.discoveryScript", [Worker], Otherwise("none");
    /// JSON file with the addresses of a Worker's custom resources.
    RESOURCES_FILE: "spark.worker.resourcesFile", [Worker], Otherwise("none");
    /// auto offers the GPUs that nvidia-smi lists, as gpu with their models as kinds (--gpus).
    WORKER_GPUS: "firesteel.worker.gpus", [Worker], Value("none");
    /// Kind of a Worker's custom resource, such as A100 of gpu, that executors may ask for by gpu:A100 (--resource
    /// gpu:A100=2).
    WORKER_RESOURCE_KIND: "firesteel.worker.resource.NAME.kind", [Worker], Otherwise("none");
    /// Amount of a custom resource for each executor: whole addresses, or a part of one, such as 0.25, if allowed
    /// (--executor-resource).
    EXECUTOR_RESOURCE: "spark.executor.resource.NAME.amount", [Application], Otherwise("none");
    /// Kind of a custom resource that executors need, such as A100 of gpu (--executor-resource gpu:A100=1).
    EXECUTOR_RESOURCE_KIND: "firesteel.executor.resource.NAME.kind", [Application], Otherwise("any");
    /// Custom resource, such as gpu, that executors and tasks get in CUDA's own variables,
    /// CUDA_VISIBLE_DEVICES above all.
    EXECUTOR_CUDA: "firesteel.executor.cuda", [Application], Otherwise("gpu if asked for");
    /// Amount of a custom resource for each task: whole addresses, or a share of one, at most 0.5 (--task-resource).
    TASK_RESOURCE: "spark.task.resource.NAME.amount", [Application], Otherwise("none: tasks may use all addresses of their executor");
    /// A variable in the environment of the executors and their tasks.
    EXECUTOR_ENV: "spark.executorEnv.NAME", [Application], Otherwise("not set");
    /// Files to copy into the executors' directories: PATH or PATH#NAME, separated by commas (--files).
    FILES: "spark.files", [Application], Otherwise("none");
    /// Archives to unpack in the executors' directories: PATH or PATH#NAME, separated by commas (--archives).
    ARCHIVES: "spark.archives", [Application], Otherwise("none");
    /// Cores of its executor that each task takes.
    TASK_CPUS: "spark.task.cpus", [Application], Value("1");
    /// A task fails for good after this many failed attempts.
    TASK_MAX_FAILURES: "spark.task.maxFailures", [Application], Value("4");
    /// Exit codes after which a task is not retried, such as 2,124-126, or none; 124 is a timeout (--fatal-exit-codes).
    FATAL_EXIT_CODES: "firesteel.task.fatalExitCodes", [Application], Value("124");
    /// How long to wait for the Master to report the end of an executor that disconnected.
    REMOVE_DELAY: "spark.standalone.executorRemoveDelayOnDisconnection", [Application], Value("5s");
    /// Interval of the heartbeats between the driver and each executor; shorter than spark.network.timeout.
    HEARTBEAT_INTERVAL: "spark.executor.heartbeatInterval", [Application], Value("10s");
    /// Replace an executor from which nothing has arrived for this time; its tasks run elsewhere.
    NETWORK_TIMEOUT: "spark.network.timeout", [Application], Value("120s");
    /// An executor ends when nothing has arrived from the driver for this number of heartbeat intervals.
    HEARTBEAT_FAILURES: "spark.executor.heartbeat.maxFailures", [Application], Value("60");
    /// Print the reason if no executor has registered after this time.
    STARVATION_TIMEOUT: "spark.starvation.timeout", [Application], Value("15s");
    /// How long a task waits for a preferred host, and then as long for a host in the same rack.
    LOCALITY_WAIT: "spark.locality.wait", [Application], Value("3s");
    /// How long a task waits for a preferred host before it may run in the same rack.
    LOCALITY_WAIT_NODE: "spark.locality.wait.node", [Application], Otherwise("spark.locality.wait");
    /// How long a task then waits for the same rack before it may run anywhere.
    LOCALITY_WAIT_RACK: "spark.locality.wait.rack", [Application], Otherwise("spark.locality.wait");
    /// Whether to exclude executors and hosts where tasks fail that succeed elsewhere: true by Spark's rule, false
    /// never.
    EXCLUDE: "spark.excludeOnFailure.enabled", [Application], Otherwise("not set: those that are worse than the others, for minutes");
    /// The same as spark.excludeOnFailure.enabled for Firesteel's own applications, and takes precedence.
    EXCLUDE_APPLICATION: "spark.excludeOnFailure.application.enabled", [Application], Otherwise("spark.excludeOnFailure.enabled");
    /// Deprecated name of spark.excludeOnFailure.enabled, which takes precedence.
    EXCLUDE_OLD: "spark.blacklist.enabled", [Application], Otherwise("not set");
    /// By Spark's rule: how long an exclusion lasts, and how long a failure counts.
    EXCLUDE_TIMEOUT: "spark.excludeOnFailure.timeout", [Application], Value("1h");
    /// Deprecated name of spark.excludeOnFailure.timeout, which takes precedence.
    EXCLUDE_TIMEOUT_OLD: "spark.blacklist.timeout", [Application], Otherwise("not set");
    /// By Spark's rule: exclude an executor after this many tasks failed on it and succeeded elsewhere.
    EXCLUDE_TASKS: "spark.excludeOnFailure.application.maxFailedTasksPerExecutor", [Application], Value("2");
    /// Deprecated name of spark.excludeOnFailure.application.maxFailedTasksPerExecutor, which takes precedence.
    EXCLUDE_TASKS_OLD: "spark.blacklist.application.maxFailedTasksPerExecutor", [Application], Otherwise("not set");
    /// By Spark's rule: exclude a host after this many of its executors were excluded, or failed to start in a row.
    EXCLUDE_EXECUTORS: "spark.excludeOnFailure.application.maxFailedExecutorsPerNode", [Application], Value("2");
    /// Deprecated name of spark.excludeOnFailure.application.maxFailedExecutorsPerNode, which takes precedence.
    EXCLUDE_EXECUTORS_OLD: "spark.blacklist.application.maxFailedExecutorsPerNode", [Application], Otherwise("not set");
    /// A task avoids an executor after this many failures there.
    ATTEMPTS_PER_EXECUTOR: "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor", [Application], Value("1");
    /// Deprecated name of spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor, which takes precedence.
    ATTEMPTS_PER_EXECUTOR_OLD: "spark.blacklist.task.maxTaskAttemptsPerExecutor", [Application], Otherwise("not set");
    /// A task avoids a host after this many failures there.
    ATTEMPTS_PER_HOST: "spark.excludeOnFailure.task.maxTaskAttemptsPerNode", [Application], Value("2");
    /// Deprecated name of spark.excludeOnFailure.task.maxTaskAttemptsPerNode, which takes precedence.
    ATTEMPTS_PER_HOST_OLD: "spark.blacklist.task.maxTaskAttemptsPerNode", [Application], Otherwise("not set");
    /// File with the rack of each host: one host and its rack per line, separated by a blank.
    TOPOLOGY_TABLE: "firesteel.topology.table", [Application], Otherwise("no racks");
    /// How long to try to reach a Master.
    REGISTRATION_TIMEOUT: "firesteel.driver.registrationTimeout", [Application], Value("60s");
    /// Replace an executor that runs but has not registered with the driver after this time.
    EXECUTOR_TIMEOUT: "firesteel.driver.executorTimeout", [Application], Value("120s");
    /// How long an executor whose connection to its driver broke may be away; 0: it ends with the connection.
    EXECUTOR_AWAY_TIMEOUT: "firesteel.executor.awayTimeout", [Application], Value("30s");
    /// Maximum bytes of a task's output on the way to the driver.
    OUTPUT_CREDIT: "firesteel.task.outputCredit", [Application], Value("1m");
    /// Maximum bytes of output that a shell keeps of background tasks; the output of the oldest is dropped first.
    KEPT_OUTPUT: "firesteel.shell.keptOutput", [Application], Value("1g");
    /// Host name or address by which executors connect to the driver.
    DRIVER_HOST: "spark.driver.host", [Application], Otherwise("the address from which this machine connects to the Master");
    /// Address that the driver listens on.
    DRIVER_BIND_ADDRESS: "spark.driver.bindAddress", [Application], Otherwise("spark.driver.host");
    /// Where the driver runs: client (in the submitting command) or cluster (submit: on a Worker; on YARN: in a
    /// container) (--deploy-mode).
    DEPLOY_MODE: "spark.submit.deployMode", [Application], Value("client");
    /// Cores of the driver in cluster mode; on YARN virtual cores of the ApplicationMaster and the driver together.
    DRIVER_CORES: "spark.driver.cores", [Application], Value("1");
    /// Memory of the driver in cluster mode; on YARN of the ApplicationMaster and the driver together.
    DRIVER_MEMORY: "spark.driver.memory", [Application], Value("1g");
    /// Amount of a custom resource for a driver on the cluster: whole addresses, or a part of one, if allowed
    /// (--driver-resource).
    DRIVER_RESOURCE: "spark.driver.resource.NAME.amount", [Application], Otherwise("none");
    /// Whether a cluster driver is started again when it fails or its Worker is lost (firesteel submit).
    DRIVER_SUPERVISE: "spark.driver.supervise", [Application], Value("false");
    /// Port that the driver listens on; 0 takes any free port.
    DRIVER_PORT: "spark.driver.port", [Application], Value("0");
    /// Users who administer the Master, or on YARN may view and kill the application; * means all.
    ADMIN_ACLS: "spark.admin.acls", [Master, Application], Otherwise("none");
    /// The same for groups of the system's.
    ADMIN_ACLS_GROUPS: "spark.admin.acls.groups", [Master, Application], Otherwise("none");
    /// Users who may end what belongs to others at the Master, or on YARN this application.
    MODIFY_ACLS: "spark.modify.acls", [Master, Application], Otherwise("none");
    /// The same for groups of the system's.
    MODIFY_ACLS_GROUPS: "spark.modify.acls.groups", [Master, Application], Otherwise("none");
    /// Users who may read logs of others at the Master, or on YARN view this application.
    VIEW_ACLS: "spark.ui.view.acls", [Master, Application], Otherwise("none");
    /// The same for groups of the system's.
    VIEW_ACLS_GROUPS: "spark.ui.view.acls.groups", [Master, Application], Otherwise("none");
}

/// All rows: first those of this file, then those for YARN.
pub fn all() -> impl Iterator<Item = &'static Key> + Clone {
    TABLE.iter().chain(yarn::rows())
}

/// The row of a property. `None` if no reader reads it.
#[must_use]
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| matched(key.name, name).is_some())
}

#[cfg(test)]
mod tests;
