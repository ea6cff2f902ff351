//! The classes of the objects that Firesteel writes, with their fields and serial version ids.
//!
//! Source: the class files of Spark 3.3.4 to 3.5.9 and 4.0.0 to 4.3.0, with Scala 2.12 and 2.13.

use super::Generation;
use crate::java::Class;

/// A class of objects in the messages that Firesteel writes.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) name: &'static str,
    serials: Serials,
    /// The names and types of the class's fields, in stream order: primitive types first, each group sorted by name.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    pub(crate) parent: Option<&'static Described>,
    /// How objects of the class are written: a sum of the constants of [`Class`].
    pub(crate) flags: u8,
}

/// The serial version ids of a class, by generation.
#[derive(Clone, Copy, Debug)]
enum Serials {
    InBoth(i64),
    InEach { scala_2_12: i64, scala_2_13: i64 },
}

impl Described {
    const fn new(
        name: &'static str,
        serials: Serials,
        fields: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { name, serials, fields, parent: None, flags: Class::SERIALIZABLE }
    }

    const fn below(self, parent: &'static Self) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Marks a class that writes data beyond its fields.
    const fn writing(self) -> Self {
        Self { flags: self.flags | Class::WRITES, ..self }
    }

    pub(crate) fn serial(&self, generation: Generation) -> i64 {
        match (self.serials, generation) {
            (Serials::InBoth(serial), _) => serial,
            (Serials::InEach { scala_2_12, .. }, Generation::Scala2_12) => scala_2_12,
            (Serials::InEach { scala_2_13, .. }, Generation::Scala2_13) => scala_2_13,
        }
    }
}

const fn each(scala_2_12: i64, scala_2_13: i64) -> Serials {
    Serials::InEach { scala_2_12, scala_2_13 }
}

const STRING: &str = "Ljava/lang/String;";
const OBJECT: &str = "Ljava/lang/Object;";
const OPTION: &str = "Lscala/Option;";
const REFERENCE: &str = "Lorg/apache/spark/rpc/RpcEndpointRef;";

/// Spark's own classes in messages to drivers. Classes of libraries are left out, since their ids are the same in all
/// releases.
pub(super) static TO_DRIVERS: [&Described; 7] = [
    &REGISTERED_APPLICATION,
    &EXECUTOR_ADDED,
    &EXECUTOR_UPDATED,
    &WORKER_REMOVED,
    &APPLICATION_REMOVED,
    &MASTER_CHANGED,
    &EXECUTOR_STATE,
];

/// The classes in messages to clients.
pub(super) static TO_CLIENTS: [&Described; 4] =
    [&SUBMIT_DRIVER_RESPONSE, &KILL_DRIVER_RESPONSE, &DRIVER_STATUS_RESPONSE, &DRIVER_STATE];

/// The classes whose ids differ in Spark 3.3.
pub(super) const OF_SPARK_3_3: [(&str, i64); 3] = [
    (LAUNCH_EXECUTOR.name, 8_577_367_506_417_202_309),
    (RPC_ADDRESS.name, -1_899_949_257_349_942_769),
    (RESOURCE_INFORMATION.name, -4_343_349_369_397_465_599),
];

pub(crate) static REGISTERED_APPLICATION: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$RegisteredApplication",
    each(5_278_639_749_174_223_007, -6_901_749_326_309_445_091),
    &[("appId", STRING), ("master", REFERENCE)],
);

pub(crate) static EXECUTOR_ADDED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$ExecutorAdded",
    each(-5_916_818_324_565_015_877, -249_263_137_093_654_894),
    &[("cores", "I"), ("id", "I"), ("memory", "I"), ("hostPort", STRING), ("workerId", STRING)],
);

pub(crate) static EXECUTOR_UPDATED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$ExecutorUpdated",
    each(-1_971_851_081_955_655_249, 7_366_624_812_085_443_383),
    &[
        ("id", "I"),
        ("exitStatus", OPTION),
        ("message", OPTION),
        ("state", "Lscala/Enumeration$Value;"),
        ("workerHost", OPTION),
    ],
);

pub(crate) static WORKER_REMOVED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$WorkerRemoved",
    each(-1_226_921_232_618_907_123, 4_786_945_831_378_396_219),
    &[("host", STRING), ("id", STRING), ("message", STRING)],
);

pub(crate) static APPLICATION_REMOVED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$ApplicationRemoved",
    each(-2_193_879_537_607_548_452, -551_990_914_494_718_686),
    &[("message", STRING)],
);

pub(crate) static MASTER_CHANGED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$MasterChanged",
    each(3_319_114_490_576_369_105, 425_198_687_439_047_197),
    &[("master", REFERENCE), ("masterWebUiUrl", STRING)],
);

pub(crate) static REGISTERED_WORKER: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$RegisteredWorker",
    each(-6_583_824_506_050_423_131, 4_494_326_790_182_535_375),
    &[
        ("duplicate", "Z"),
        ("master", REFERENCE),
        ("masterAddress", "Lorg/apache/spark/rpc/RpcAddress;"),
        ("masterWebUiUrl", STRING),
    ],
);

pub(crate) static REGISTER_WORKER_FAILED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$RegisterWorkerFailed",
    each(1_611_824_441_154_345_931, -1_260_050_193_667_886_756),
    &[("message", STRING)],
);

pub(crate) static RECONNECT_WORKER: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$ReconnectWorker",
    each(-9_122_754_900_339_729_833, -2_009_857_930_057_535_479),
    &[("masterUrl", STRING)],
);

/// The class of `LaunchExecutor`. Spark 3.3 has no field `rpId`, and ignores it.
pub(crate) static LAUNCH_EXECUTOR: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$LaunchExecutor",
    each(-7_825_761_391_187_547_385, -1_708_518_885_666_390_927),
    &[
        ("cores", "I"),
        ("execId", "I"),
        ("memory", "I"),
        ("rpId", "I"),
        ("appDesc", "Lorg/apache/spark/deploy/ApplicationDescription;"),
        ("appId", STRING),
        ("masterUrl", STRING),
        ("resources", "Lscala/collection/immutable/Map;"),
    ],
);

pub(crate) static KILL_EXECUTOR: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$KillExecutor",
    each(-1_454_737_241_013_568_120, 927_374_272_032_173_679),
    &[("execId", "I"), ("appId", STRING), ("masterUrl", STRING)],
);

pub(crate) static APPLICATION_FINISHED: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$ApplicationFinished",
    each(-1_110_854_882_082_877_299, -4_605_583_667_110_307_807),
    &[("id", STRING)],
);

pub(crate) static SUBMIT_DRIVER_RESPONSE: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$SubmitDriverResponse",
    each(-80_670_711_167_889_761, 1_264_692_137_852_214_334),
    &[("success", "Z"), ("driverId", OPTION), ("master", REFERENCE), ("message", STRING)],
);

pub(crate) static KILL_DRIVER_RESPONSE: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$KillDriverResponse",
    each(-5_685_580_032_327_227_420, 7_353_456_796_753_276_811),
    &[("success", "Z"), ("driverId", STRING), ("master", REFERENCE), ("message", STRING)],
);

pub(crate) static DRIVER_STATUS_RESPONSE: Described = Described::new(
    "org.apache.spark.deploy.DeployMessages$DriverStatusResponse",
    each(-3_465_802_222_189_996_071, -4_025_416_254_008_241_436),
    &[
        ("found", "Z"),
        ("exception", OPTION),
        ("state", OPTION),
        ("workerHostPort", OPTION),
        ("workerId", OPTION),
    ],
);

/// The class of driver states. With Scala 2.12 it also has a field for each state, like `ExecutorState$`.
pub(crate) static DRIVER_STATE: Described = Described::new(
    "org.apache.spark.deploy.master.DriverState$",
    each(-9_100_895_842_830_691_601, -1_220_316_901_146_488_549),
    &[],
)
.below(&ENUMERATION);

/// The class `Throwable`. The cause, the stack and the suppressed exceptions are left out.
static THROWABLE: Described = Described::new(
    "java.lang.Throwable",
    Serials::InBoth(-3_042_686_055_658_047_285),
    &[("detailMessage", STRING)],
);

pub(crate) static EXCEPTION: Described =
    Described::new("java.lang.Exception", Serials::InBoth(-3_387_516_993_124_229_948), &[]).below(&THROWABLE);

pub(crate) static RPC_ADDRESS: Described = Described::new(
    "org.apache.spark.rpc.RpcAddress",
    each(-1_438_326_888_747_922_488, 3_128_407_972_965_539_268),
    &[("port", "I"), ("host", STRING)],
);

pub(crate) static RESOURCE_INFORMATION: Described = Described::new(
    "org.apache.spark.resource.ResourceInformation",
    each(-3_226_867_054_569_247_154, 1_962_992_342_603_777_426),
    &[("addresses", "[Ljava/lang/String;"), ("name", STRING)],
);

/// The class `ExecutorState$`. In Scala 2.12 builds the class also has one field per state. Firesteel omits these
/// fields, because the receiver uses its own `ExecutorState$` object.
pub(crate) static EXECUTOR_STATE: Described = Described::new(
    "org.apache.spark.deploy.ExecutorState$",
    each(-5_815_532_128_903_053_669, -8_560_923_695_513_481_875),
    &[],
)
.below(&ENUMERATION);

static ENUMERATION: Described = Described::new(
    "scala.Enumeration",
    Serials::InBoth(8_476_000_850_333_817_230),
    &[
        ("nextId", "I"),
        ("scala$Enumeration$$bottomId", "I"),
        ("scala$Enumeration$$topId", "I"),
        ("ValueOrdering$module", "Lscala/Enumeration$ValueOrdering$;"),
        ("ValueSet$module", "Lscala/Enumeration$ValueSet$;"),
        ("nextName", "Lscala/collection/Iterator;"),
        ("nmap", "Lscala/collection/mutable/Map;"),
        ("scala$Enumeration$$vmap", "Lscala/collection/mutable/Map;"),
    ],
);

pub(crate) static ENUMERATION_VALUE: Described = Described::new(
    "scala.Enumeration$Val",
    Serials::InBoth(-3_501_153_230_598_116_017),
    &[("i", "I"), ("name", STRING)],
)
.below(&ANY_ENUMERATION_VALUE);

static ANY_ENUMERATION_VALUE: Described = Described::new(
    "scala.Enumeration$Value",
    Serials::InBoth(7_091_335_633_555_234_129),
    &[("$outer", "Lscala/Enumeration;"), ("scala$Enumeration$$outerEnum", "Lscala/Enumeration;")],
);

static ANY_OPTION: Described = Described::new("scala.Option", Serials::InBoth(-114_498_752_079_829_388), &[]);

pub(crate) static NONE: Described =
    Described::new("scala.None$", Serials::InBoth(5_066_590_221_178_148_012), &[]).below(&ANY_OPTION);

pub(crate) static SOME: Described =
    Described::new("scala.Some", Serials::InBoth(1_234_815_782_226_070_388), &[("value", OBJECT)])
        .below(&ANY_OPTION);

pub(crate) static MODULE_PROXY: Described = Described::new(
    "scala.runtime.ModuleSerializationProxy",
    Serials::InBoth(1),
    &[("moduleClass", "Ljava/lang/Class;")],
);

pub(crate) static EMPTY_MAP: Described =
    Described::new("scala.collection.immutable.Map$EmptyMap$", each(-5_626_373_049_574_850_357, 3), &[]);

pub(crate) static MAP_OF_ONE: Described = Described::new(
    "scala.collection.immutable.Map$Map1",
    each(-9_131_943_191_104_946_031, 3),
    &[("key1", OBJECT), ("value1", OBJECT)],
);

/// A map of Scala 2.12 with many entries.
pub(crate) static HASH_MAP: Described =
    Described::new("scala.collection.immutable.HashMap$SerializationProxy", Serials::InBoth(2), &[])
        .writing();

/// A map of Scala 2.13 with many entries.
pub(crate) static COLLECTION_PROXY: Described = Described::new(
    "scala.collection.generic.DefaultSerializationProxy",
    Serials::InBoth(3),
    &[("factory", "Lscala/collection/Factory;")],
)
.writing();

pub(crate) static MAP_FACTORY: Described = Described::new(
    "scala.collection.MapFactory$ToFactory",
    Serials::InBoth(3),
    &[("factory", "Lscala/collection/MapFactory;")],
);

pub(crate) static HASH_MAP_MODULE: Described =
    Described::new("scala.collection.immutable.HashMap$", Serials::InBoth(3), &[]);

pub(crate) static PAIR: Described = Described::new(
    "scala.Tuple2",
    each(3_356_420_310_891_166_197, 142_951_686_315_914_362),
    &[("_1", OBJECT), ("_2", OBJECT)],
);

pub(crate) static STRINGS: Described =
    Described::new("[Ljava.lang.String;", Serials::InBoth(-5_921_575_005_990_323_385), &[]);

static NUMBER: Described =
    Described::new("java.lang.Number", Serials::InBoth(-8_742_448_824_652_078_965), &[]);

pub(crate) static INTEGER: Described =
    Described::new("java.lang.Integer", Serials::InBoth(1_360_826_667_806_852_920), &[("value", "I")])
        .below(&NUMBER);

pub(crate) static BOOLEAN: Described =
    Described::new("java.lang.Boolean", Serials::InBoth(-3_665_804_199_014_368_530), &[("value", "Z")]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Serial version ids and fields that JVMs of ten releases reported.
    const TOLD: &str = include_str!("../../../../fixtures/spark/serials.tsv");

    static TO_WORKERS: [&Described; 8] = [
        &REGISTERED_WORKER,
        &REGISTER_WORKER_FAILED,
        &RECONNECT_WORKER,
        &LAUNCH_EXECUTOR,
        &KILL_EXECUTOR,
        &APPLICATION_FINISHED,
        &RPC_ADDRESS,
        &RESOURCE_INFORMATION,
    ];

    #[test]
    fn every_class_has_the_serial_version_id_and_fields_of_each_release() {
        let others = [
            &ENUMERATION,
            &ENUMERATION_VALUE,
            &ANY_ENUMERATION_VALUE,
            &ANY_OPTION,
            &NONE,
            &SOME,
            &MODULE_PROXY,
            &NUMBER,
            &INTEGER,
            &BOOLEAN,
            &EXCEPTION,
            &THROWABLE,
        ];
        for class in TO_DRIVERS.into_iter().chain(TO_WORKERS).chain(TO_CLIENTS).chain(others) {
            let rows = TOLD.lines().filter(|line| line.split('\t').next() == Some(class.name));
            let mut releases = 0;
            for row in rows {
                let [_, release, serial, fields] = row.split('\t').collect::<Vec<_>>()[..] else {
                    panic!("{row}")
                };
                let generation = match release.starts_with("3.") {
                    true => Generation::Scala2_12,
                    false => Generation::Scala2_13,
                };
                let of_spark_3_3 = OF_SPARK_3_3.iter().find(|(name, _)| *name == class.name);
                let ours = match of_spark_3_3 {
                    Some((_, serial)) if release.starts_with("3.3.") => *serial,
                    _ => class.serial(generation),
                };
                assert_eq!(ours.to_string(), serial, "{row}");
                let ours = class.fields.iter().map(|(name, kind)| {
                    let kind = kind.strip_suffix(';').unwrap_or(kind);
                    format!("{kind}{} {name};", if kind.len() > 1 { ";" } else { "" })
                });
                let ours = ours.collect::<Vec<_>>().join(" ");
                let differs = [EXECUTOR_STATE.name, DRIVER_STATE.name, LAUNCH_EXECUTOR.name];
                let is_cut = class.name == THROWABLE.name;
                let has_other_fields = differs.contains(&class.name) && release.starts_with("3.");
                if !is_cut && !has_other_fields {
                    assert_eq!(ours, fields, "{row}");
                }
                releases += 1;
            }
            let one_generation = [MODULE_PROXY.name, COLLECTION_PROXY.name, MAP_FACTORY.name, HASH_MAP.name];
            let expected = if one_generation.contains(&class.name) { 5 } else { 10 };
            assert_eq!(releases, expected, "{}", class.name);
        }
    }
}
