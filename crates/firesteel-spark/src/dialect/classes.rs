//! The classes that we write, with their fields and serial version ids.
//!
//! Source: the class files of Spark 3.3.4 to 3.5.9 and 4.0.0 to 4.3.0, with Scala 2.12 and 2.13.

use super::Generation;

/// A class that our messages have objects of.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) name: &'static str,
    serials: Serials,
    /// The names and types of its fields, in the order of a stream: primitive types first, and each by name.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    pub(crate) parent: Option<&'static Described>,
}

/// The serial version ids of a class.
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
        Self { name, serials, fields, parent: None }
    }

    const fn below(self, parent: &'static Self) -> Self {
        Self { parent: Some(parent), ..self }
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
const OPTION: &str = "Lscala/Option;";
const REFERENCE: &str = "Lorg/apache/spark/rpc/RpcEndpointRef;";

/// The classes of Spark's own among those here. The others belong to libraries that fix their serial version ids.
pub(super) static OF_SPARK: [&Described; 7] = [
    &REGISTERED_APPLICATION,
    &EXECUTOR_ADDED,
    &EXECUTOR_UPDATED,
    &WORKER_REMOVED,
    &APPLICATION_REMOVED,
    &MASTER_CHANGED,
    &EXECUTOR_STATE,
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

/// With Scala 2.12 it has a field for each state too, which are left out: whoever reads it takes its own
/// `ExecutorState$` instead.
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

pub(crate) static SOME: Described = Described::new(
    "scala.Some",
    Serials::InBoth(1_234_815_782_226_070_388),
    &[("value", "Ljava/lang/Object;")],
)
.below(&ANY_OPTION);

pub(crate) static MODULE_PROXY: Described = Described::new(
    "scala.runtime.ModuleSerializationProxy",
    Serials::InBoth(1),
    &[("moduleClass", "Ljava/lang/Class;")],
);

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

    /// The serial version ids and fields that JVMs told, of ten releases.
    const TOLD: &str = include_str!("../../../../fixtures/spark/serials.tsv");

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
        ];
        for class in OF_SPARK.into_iter().chain(others) {
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
                assert_eq!(class.serial(generation).to_string(), serial, "{row}");
                let ours = class.fields.iter().map(|(name, kind)| {
                    let kind = kind.strip_suffix(';').unwrap_or(kind);
                    format!("{kind}{} {name};", if kind.len() > 1 { ";" } else { "" })
                });
                let ours = ours.collect::<Vec<_>>().join(" ");
                if class.name != EXECUTOR_STATE.name {
                    assert_eq!(ours, fields, "{row}");
                }
                releases += 1;
            }
            // Scala 2.12 has no proxies.
            assert_eq!(releases, if class.name == MODULE_PROXY.name { 5 } else { 10 }, "{}", class.name);
        }
    }
}
