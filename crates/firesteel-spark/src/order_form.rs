//! Orders to launch one application's executors on Spark's Workers.
//!
//! Each order contains the application's whole description, and orders differ only in four numbers. So everything
//! except these numbers is encoded only once, as a form that later orders copy.

use std::collections::BTreeMap;

use crate::dialect::{ClassNames, Dialect, Fragment};
use crate::java::ReadError;
use crate::messages::{Launch, ToWorker};

/// An order to launch an executor: the varying parts of Spark's `LaunchExecutor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<'a> {
    /// The application's id (`appId`).
    pub app: &'a str,
    /// The executor's number in its application (`execId`).
    pub executor: i32,
    /// The number of the executor's resource profile (`rpId`); 0 is the default profile.
    pub profile: i32,
    /// The executor's number of cores (`cores`).
    pub cores: i32,
    /// The executor's memory in MiB (`memory`).
    pub memory: i32,
    /// The addresses of the executor's custom resources, by name.
    pub resources: BTreeMap<String, Vec<String>>,
    /// The application's description as its driver sent it (`appDesc`): a stream of Java objects.
    pub description: &'a [u8],
}

/// The cached forms of orders, shared by the Workers on all connections of a Master.
#[derive(Debug, Default)]
pub struct OrderForms {
    /// Forms by application id. An application has several if Workers use different URLs for the Master, or run
    /// different releases of Spark.
    forms: BTreeMap<String, Vec<OrderForm>>,
}

/// The largest number of cached forms. Each form is about as long as an application's description.
const MOST_FORMS: usize = 4096;

impl OrderForms {
    /// Writes the Java object of an order. `master_url` is the URL that the Worker uses for the Master.
    ///
    /// # Errors
    ///
    /// If the application's description is not a stream of Java objects.
    pub fn write(
        &mut self,
        order: &Order<'_>,
        dialect: &Dialect,
        master_url: &str,
    ) -> Result<Vec<u8>, ReadError> {
        let known = self.forms.get(order.app).map_or(&[][..], Vec::as_slice);
        if let Some(form) = known.iter().find(|form| form.fits(order, dialect, master_url)) {
            return Ok(form.fill(order));
        }
        let Some(form) = OrderForm::of(order, dialect, master_url)? else {
            return order.write(dialect, master_url);
        };
        if self.forms.values().map(Vec::len).sum::<usize>() >= MOST_FORMS {
            self.forms.clear();
        }
        let object = form.fill(order);
        self.forms.entry(order.app.to_owned()).or_default().push(form);
        Ok(object)
    }

    /// Removes the forms of an application that has ended.
    pub fn forget(&mut self, app: &str) {
        self.forms.remove(app);
    }
}

/// The bytes that the orders of an application have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OrderForm {
    vocabulary: ClassNames,
    master_url: String,
    object: Vec<u8>,
    /// The offset of the four numbers that differ.
    numbers: usize,
}

/// Numbers that mark the places of the four numbers in a form: cores, executor, memory and profile.
const MARK: [i32; 4] = [0x3ad1_7e05, 0x1c69_02f3, 0x6e94_b82d, 0x57f0_43a9];

impl Order<'_> {
    /// Writes the Java object of the order. `master_url` is the URL that the Worker uses for the Master.
    ///
    /// # Errors
    ///
    /// If the application's description is not a stream of Java objects.
    fn write(&self, dialect: &Dialect, master_url: &str) -> Result<Vec<u8>, ReadError> {
        let launch = Launch {
            master_url: master_url.to_owned(),
            app: self.app.to_owned(),
            executor: self.executor,
            profile: self.profile,
            description: Fragment::read(self.description)?,
            cores: self.cores,
            memory: self.memory,
            resources: self.resources.clone(),
        };
        Ok(ToWorker::LaunchExecutor(Box::new(launch)).write(dialect))
    }

    fn numbers(&self) -> [u8; 16] {
        bytes_of([self.cores, self.executor, self.memory, self.profile])
    }
}

impl OrderForm {
    /// Makes the form of an order. `None` if its executor has custom resources.
    ///
    /// # Errors
    ///
    /// If the application's description is not a stream of Java objects.
    fn of(order: &Order<'_>, dialect: &Dialect, master_url: &str) -> Result<Option<Self>, ReadError> {
        if !order.resources.is_empty() {
            return Ok(None);
        }
        let [cores, executor, memory, profile] = MARK;
        let marked = Order { cores, executor, memory, profile, ..order.clone() };
        let object = marked.write(dialect, master_url)?;
        let mark = marked.numbers();
        let numbers = object.windows(mark.len()).position(|window| window == mark);
        let (vocabulary, master_url) = (dialect.vocabulary.clone(), master_url.to_owned());
        Ok(numbers.map(|numbers| Self { vocabulary, master_url, object, numbers }))
    }

    /// Whether the form can be used for this order: same application, same dialect, and same URL of the Master.
    fn fits(&self, order: &Order<'_>, dialect: &Dialect, master_url: &str) -> bool {
        order.resources.is_empty() && self.master_url == master_url && self.vocabulary == dialect.vocabulary
    }

    /// The bytes of `LaunchExecutor` for this order: a copy of the form, with the order's four numbers put in.
    fn fill(&self, order: &Order<'_>) -> Vec<u8> {
        let mut object = self.object.clone();
        object[self.numbers..][..16].copy_from_slice(&order.numbers());
        object
    }
}

fn bytes_of(numbers: [i32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    bytes
}
