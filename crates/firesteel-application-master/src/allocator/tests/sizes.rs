//! Sizes of containers: the cases of Spark's own tests, and further examples.

use super::super::size::BadAmount;
use super::*;

fn sizing(memory: i64) -> Sizing {
    let default = ExecutorNeeds { memory: Some(MiB(memory)), ..ExecutorNeeds::default() };
    Sizing { default, ..Sizing::default() }
}

fn names(amounts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

fn resources(size: &ContainerSize) -> Vec<(&str, String)> {
    size.resources.iter().map(|(name, amount)| (name.as_str(), amount.to_string())).collect()
}

#[test]
fn memory_is_the_executors_own_and_an_overhead() {
    for (memory, container) in [(1024, 1408), (2048, 2432), (4096, 4505), (8192, 9011)] {
        assert_eq!(sizing(memory).default_container().memory, MiB(container), "{memory}");
    }
    assert_eq!(Sizing::default().default_container().memory, MiB(1408), "nobody said anything");
}

#[test]
fn row_4_a_resource_of_the_managers_is_asked_for() {
    let amount = "2G".parse().expect("it is an amount");
    let sizing = Sizing { extra: [("gpu".to_owned(), amount)].into(), ..sizing(2048) };
    let mut bench = Bench::with(Config { sizing, ..config() });
    bench.request(1);
    let call = bench.call();
    let size = &call.asks[0].size;
    assert_eq!((size.memory, size.cores), (MiB(2432), Cores(1)));
    assert_eq!(resources(size), [("gpu", "2G".to_owned())]);
}

#[test]
fn row_5_resources_of_executors_have_other_names_at_the_manager() {
    let mut sizing = sizing(2048);
    sizing.default.resources = names(&[("gpu", 3), ("fpga", 2), ("licence", 1)]);
    sizing.extra = [("yarn.io/madeup".to_owned(), "5".parse().expect("it is an amount"))].into();
    let expected = [("yarn.io/fpga", "2"), ("yarn.io/gpu", "3"), ("yarn.io/madeup", "5")];
    let expected = expected.map(|(name, amount)| (name, amount.to_owned()));
    assert_eq!(resources(&sizing.default_container()), expected, "and others are not forwarded");
    let needs = ExecutorNeeds { resources: names(&[("gpu", 1), ("licence", 1)]), ..ExecutorNeeds::default() };
    let expected = [("licence", "1"), ("yarn.io/gpu", "1")].map(|(name, amount)| (name, amount.to_owned()));
    assert_eq!(resources(&sizing.container(&needs)), expected, "but those of other profiles are");
}

#[test]
fn row_6_the_managers_names_can_be_chosen() {
    let mut sizing = sizing(2048);
    sizing.default.resources = names(&[("gpu", 3), ("fpga", 2)]);
    let custom = |name: &str| (name.to_owned(), format!("custom/{name}"));
    sizing.names = [custom("gpu"), custom("fpga")].into();
    let expected =
        [("custom/fpga", "2"), ("custom/gpu", "3")].map(|(name, amount)| (name, amount.to_owned()));
    assert_eq!(resources(&sizing.default_container()), expected);
}

#[test]
fn row_19_memory_outside_of_the_heap_counts() {
    let mut sizing = sizing(1024);
    sizing.default.off_heap = Some(MiB(1024));
    assert_eq!(sizing.default_container().memory, MiB(1024 + 1024 + 384));
}

#[test]
fn row_20_the_overhead_can_be_a_larger_part() {
    let sizing = Sizing { overhead_factor: 0.5, ..sizing(1024) };
    assert_eq!(sizing.default_container().memory, MiB(1536));
}

#[test]
fn row_21_an_overhead_that_is_named_counts_and_no_part() {
    let mut sizing = Sizing { overhead_factor: 0.5, ..sizing(1024) };
    sizing.default.overhead = Some(MiB(409));
    assert_eq!(sizing.default_container().memory, MiB(1433));
}

#[test]
fn another_profile_has_what_it_names_and_the_rest_of_the_default_but_its_own_overhead() {
    let mut sizing = sizing(1024);
    sizing.default.overhead = Some(MiB(500));
    sizing.default.off_heap = Some(MiB(100));
    sizing.default.cores = Some(Cores(3));
    let needs = ExecutorNeeds { memory: Some(MiB(8192)), ..ExecutorNeeds::default() };
    let size = sizing.container(&needs);
    assert_eq!((size.memory, size.own_memory, size.cores), (MiB(8192 + 819 + 100), MiB(8192), Cores(3)));
    let needs = ExecutorNeeds { overhead: Some(MiB(1)), python: Some(MiB(7)), ..needs };
    assert_eq!(sizing.container(&needs).memory, MiB(8192 + 1 + 100 + 7));
    let absurd = ExecutorNeeds { memory: Some(MiB(i64::MAX)), ..ExecutorNeeds::default() };
    assert_eq!(sizing.container(&absurd).memory, MiB(i64::MAX));
}

#[test]
fn amounts_are_digits_and_letters() {
    for (text, read) in [("2", "2"), ("2G", "2G"), ("2g", "2G"), ("12t", "12T"), ("3Gi", "3Gi"), ("0p", "0P")]
    {
        assert_eq!(text.parse::<Amount>().expect("it is an amount").to_string(), read);
    }
    for text in ["", "g", "-1", "1.5", "1 g", "1g2", "99999999999999999999"] {
        assert_eq!(text.parse::<Amount>(), Err(BadAmount(text.to_owned())));
    }
}
