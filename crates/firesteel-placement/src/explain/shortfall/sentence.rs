//! A shortfall as an English sentence.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::{Amounts, CoreHolder, LackingWorkers, Missing, Reason, Shortfall};
use crate::words::{are, counted, duration, have, list, none_or, of_resource};
use crate::{Cores, MiB, Quantity};

impl Display for Shortfall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.missing)?;
        match &self.reason {
            Reason::LimitReached { limit: 0 } => f.write_str("the limit allows no executor"),
            Reason::LimitReached { limit } => {
                write!(f, "the limit of {} is reached", none_or(*limit, "executor"))
            }
            Reason::TooFewCoresLeft { left } if *left <= Cores::ZERO => {
                f.write_str("the application has reached its maximum of cores")
            }
            Reason::TooFewCoresLeft { left } => {
                let (each, left) = (cores(self.asked.cores), left.0);
                write!(f, "an executor needs {each}, and {left} {} left of the application's maximum", are(left))
            }
            Reason::NoWorkers => f.write_str("no Worker is alive"),
            Reason::NotGranted { granted } => {
                write!(f, "the cluster has granted {} so far", none_or(*granted, "container"))
            }
            Reason::TooSmall { largest } => f.write_str(&too_small(&self.asked, largest)),
            Reason::Busy { workers } => f.write_str(&all_busy(&self.asked, workers)),
            Reason::Held { workers, holder, others } => {
                write!(f, "{}; {holder}", all_busy(&self.asked, workers))?;
                match *others {
                    0 => Ok(()),
                    1 => f.write_str(", and 1 other application holds some"),
                    others => write!(f, ", and {} hold some", none_or(others, "other application")),
                }
            }
            Reason::GangTooLarge { executors, room } => write!(
                f,
                "it needs {} at once, but only {room} {} on all Workers together: it can never begin on this \
                 cluster",
                none_or(*executors, "executor"),
                fits(*room)
            ),
            Reason::GangWaits { executors, room } => write!(
                f,
                "it needs {} at once, but only {room} {} now",
                none_or(*executors, "executor"),
                fits(*room)
            ),
            Reason::KeptForAnother => f.write_str(
                "free capacity is reserved for an application that is served first and needs several executors at \
                 once",
            ),
            Reason::Excluded { workers } => write!(
                f,
                "{} {} room, but {} excluded for a while because executors end too early there",
                none_or(*workers, "Worker"),
                have(*workers),
                are(*workers)
            ),
            Reason::Impaired { workers: 1, why } => write!(f, "1 Worker has room, but {why}"),
            Reason::Impaired { workers, why } => write!(
                f,
                "{} have room, but get nothing new for now: one of them {why}",
                none_or(*workers, "Worker")
            ),
            Reason::Paused { failures, millis } => write!(
                f,
                "after {} in a row it is given no new one for {}",
                none_or(*failures, "failed executor"),
                duration(Duration::from_millis(*millis))
            ),
            Reason::Avoided { workers: 1 } => {
                f.write_str("1 Worker has room, but is on a host that the application avoids")
            }
            Reason::Avoided { workers } => write!(
                f,
                "{} have room, but are on hosts that the application avoids",
                none_or(*workers, "Worker")
            ),
            Reason::UserLimit { limit } => write!(f, "each user may have {limit} at most"),
            Reason::Labelled { workers, label } => write!(
                f,
                "{} {} room, but {} only executors of {label}",
                none_or(*workers, "Worker"),
                have(*workers),
                if *workers == 1 { "runs" } else { "run" }
            ),
        }
    }
}

impl Display for CoreHolder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { app, name, cores: held, of } = self;
        write!(f, "{app} ({name}) holds {} of the {}", held.0, cores(*of))
    }
}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Executors { missing: 2, of: 2 } => f.write_str("both executors are missing"),
            Self::Executors { missing, of } if missing == of && of > 1 => {
                write!(f, "all {of} executors are missing")
            }
            Self::Executors { missing, of } => {
                write!(f, "{missing} of {} {} missing", counted(of, "executor"), are(missing))
            }
            Self::Cores(missing) => write!(f, "{} {} missing", cores(missing), are(missing.0)),
            Self::First => f.write_str("no executor could be placed"),
        }
    }
}

/// `no Worker has 16 cores: the largest has 8`, for the first amount that no Worker has. If each amount by itself is on
/// some Worker, the sentence names all amounts together.
fn too_small(asked: &Amounts, largest: &Amounts) -> String {
    if largest.cores < asked.cores {
        return format!("no Worker has {}: the largest has {}", cores(asked.cores), largest.cores.0.max(0));
    }
    if largest.memory < asked.memory {
        return format!(
            "no Worker has {} of memory: the largest has {}",
            asked.memory,
            largest.memory.max(MiB::ZERO)
        );
    }
    for (name, &each) in &asked.resources {
        match addresses(largest, name) {
            Quantity::ZERO if each == Quantity::whole(1) => return format!("no Worker has a {name}"),
            most if most < each => {
                return format!("no Worker has {}: the most is {most}", of_resource(each, name));
            }
            _ => {}
        }
    }
    format!("no Worker has {} together", list(&everything(asked)))
}

/// Why each group of Workers has too little free capacity, the largest group first.
fn all_busy(asked: &Amounts, workers: &[LackingWorkers]) -> String {
    let groups: Vec<_> = workers.iter().map(|group| busy(asked, group)).collect();
    groups.join("; ")
}

/// `2 Workers have 8 cores free but 1 GiB of memory, and an executor needs 4 GiB`. Of the amounts that suffice, the
/// sentence names only the cores.
fn busy(asked: &Amounts, group: &LackingWorkers) -> String {
    let LackingWorkers { count, least, most } = group;
    let mut lacking = Vec::new();
    let mut wanted = Vec::new();
    if most.memory < asked.memory {
        lacking.push(memory_between(least.memory, most.memory));
        wanted.push(asked.memory.to_string());
    }
    for (name, &each) in &asked.resources {
        let most = addresses(most, name);
        if most < each {
            lacking.push(quantity_between(addresses(least, name), most, name));
            wanted.push(of_resource(each, name));
        }
    }
    let holder = format!("{} {}", none_or(*count, "Worker"), have(*count));
    let free = between(least.cores.0, most.cores.0, "core");
    if most.cores < asked.cores {
        lacking.insert(0, free);
        wanted.insert(0, cores(asked.cores));
        format!("{holder} {} free, and an executor needs {}", list(&lacking), list(&wanted))
    } else {
        format!("{holder} {free} free but {}, and an executor needs {}", list(&lacking), list(&wanted))
    }
}

/// All amounts that an executor asks for.
fn everything(asked: &Amounts) -> Vec<String> {
    let mut all = vec![cores(asked.cores)];
    if asked.memory > MiB::ZERO {
        all.push(format!("{} of memory", asked.memory));
    }
    all.extend(asked.resources.iter().map(|(name, &each)| of_resource(each, name)));
    all
}

fn addresses(amounts: &Amounts, name: &str) -> Quantity {
    amounts.resources.get(name).copied().unwrap_or_default()
}

/// `fits` for one executor, `fit` for any other number.
fn fits(executors: u64) -> &'static str {
    if executors == 1 { "fits" } else { "fit" }
}

fn cores(cores: Cores) -> String {
    none_or(cores.0, "core")
}

/// `8 cores`, `2 to 8 cores`, or `at most 8 cores` if some Workers have none.
fn between(least: i64, most: i64, noun: &str) -> String {
    let (least, most) = (least.max(0), most.max(0));
    match least {
        _ if least == most => none_or(most, noun),
        0 => format!("at most {}", none_or(most, noun)),
        _ => format!("{least} to {}", none_or(most, noun)),
    }
}

/// `2 gpus`, `1 to 2 gpus`, or `at most 0.5 gpu` if some Workers have none.
fn quantity_between(least: Quantity, most: Quantity, name: &str) -> String {
    match least {
        _ if least == most => of_resource(most, name),
        Quantity::ZERO => format!("at most {}", of_resource(most, name)),
        _ => format!("{least} to {}", of_resource(most, name)),
    }
}

/// A range of memory, such as `1 GiB to 4 GiB of memory`.
fn memory_between(least: MiB, most: MiB) -> String {
    let (least, most) = (least.max(MiB::ZERO), most.max(MiB::ZERO));
    match least {
        _ if most == MiB::ZERO => "no memory".to_owned(),
        _ if least == most => format!("{most} of memory"),
        MiB::ZERO => format!("at most {most} of memory"),
        _ => format!("{least} to {most} of memory"),
    }
}
