//! Relative sizes, and the reported space of volumes and of the pool.

use admin::{AdminError, Administration, Aggregate, At, Sample, World};
use block::{ObjectId, Time};
use std::sync::Arc;

/// A pool of 100 GB with 40 GB free, in which every LUN uses 3 MB.
struct Pool;

impl World for Pool {
    fn used(&self, _: ObjectId) -> u64 {
        3_000_000
    }

    fn owned(&self, _: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        0
    }

    fn connections(&self, _: ObjectId) -> u64 {
        0
    }

    fn sample(&self) -> Arc<Sample> {
        Arc::default()
    }

    fn uuid(&self) -> u128 {
        1
    }

    fn aggregate(&self) -> Option<Aggregate> {
        Some(Aggregate { name: "pool1".into(), size: 100_000_000_000, available: 40_000_000_000 })
    }
}

struct Bench(Administration);

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench(Administration::new(qos::RegistrySettings::default()));
        for line in ["vserver create s", "volume create v -size 1GB", "lun create /vol/v/l -size 100MB"] {
            bench.run(line).unwrap();
        }
        bench
    }

    fn run(&mut self, line: &str) -> Result<String, AdminError> {
        let at = At { now: Time::ZERO, began: 0, world: &Pool };
        self.0.run(ontap::parse(line)?, &at).map(|outcome| outcome.answer.text())
    }

    fn refused(&mut self, line: &str) -> String {
        self.run(line).unwrap_err().to_string()
    }
}

/// Sizes are whole blocks of 4096 bytes: 100 MB are 100 003 840 bytes, 500 MB more are 600 006 656.
#[test]
fn luns_and_volumes_grow_and_shrink_by_what_is_said() {
    let mut bench = Bench::new();
    let size = |bench: &mut Bench| bench.run("lun show -fields size -output json").unwrap();
    bench.run("lun resize /vol/v/l -size +500MB").unwrap();
    assert!(size(&mut bench).contains("\"size\":600006656"), "{}", size(&mut bench));
    bench.run("lun resize -path /vol/v/l -size -500MB").unwrap();
    assert!(size(&mut bench).contains("\"size\":10000"), "{}", size(&mut bench));
    bench.run("lun resize /vol/v/l 50MB").unwrap_err();
    bench.run("lun resize /vol/v/l -size 50MB").unwrap();
    assert_eq!(bench.run("volume size v").unwrap(), "vol size: Volume \"s:v\" has size 1.00GB.\n");
    assert_eq!(bench.run("volume size v -new-size +1GB").unwrap(), "vol size: Volume \"s:v\" size set to 2.00GB.\n");
    bench.run("volume modify v* -size -1GB").unwrap();
    assert_eq!(bench.run("volume size v").unwrap(), "vol size: Volume \"s:v\" has size 1.00GB.\n");
}

#[test]
fn a_size_that_cannot_be_is_refused_with_what_it_is_now() {
    let mut bench = Bench::new();
    let told = bench.refused("lun resize /vol/v/l -size -1GB");
    assert!(told.starts_with("size -1GB of 100003840 bytes now: a LUN or file has from 1 byte"), "{told}");
    let told = bench.refused("lun resize /vol/v/l -size +2GB");
    assert_eq!(
        told,
        "s:/vol/v: has 900.0MB left for LUNs and files, 2.00GB more are needed; grow it with `volume modify -size`"
    );
    let told = bench.refused("lun create /vol/v/m -size 901MB");
    assert!(told.contains("has 900.0MB left for LUNs and files, 901.0MB are needed"), "{told}");
    // What would look the same is told by the byte: the volume has 1 000 001 536, the LUN
    // 100 003 840 of them, and 900 005 000 more make it one of 1 000 009 728.
    let told = bench.refused("lun resize /vol/v/l -size +900005000");
    assert!(told.contains("has 899997696B left for LUNs and files, 900005888B more are needed"), "{told}");
    let told = bench.refused("volume size v -new-size -950MB");
    assert!(told.contains("take 100.0MB together, which is more than the size given (50.00MB)"), "{told}");
    // A size that rounding up to whole blocks changes is told as given and as it became.
    let told = bench.refused("volume modify v -size 500");
    assert!(told.contains("which is more than the size given (500B, rounded up to 4096B)"), "{told}");
    bench.run("volume create w -size 1GB").unwrap();
    let told = bench.run("volume size w -new-size 5000").unwrap();
    assert_eq!(told, "vol size: Volume \"s:w\" size set to 5000B, rounded up to 8192B.\n");
    let told = bench.refused("volume size v -new-size +x");
    assert!(told.contains("-new-size: \"+x\" is not a size"), "{told}");
}

#[test]
fn the_space_of_volumes_and_of_the_pool_is_told() {
    let mut bench = Bench::new();
    insta::assert_snapshot!("df", bench.run("df").unwrap());
    insta::assert_snapshot!("df_instance", bench.run("df -volume v -vserver s").unwrap());
    insta::assert_snapshot!("aggregate_summary", bench.run("storage aggregate show").unwrap());
    insta::assert_snapshot!("aggregate_instance", bench.run("storage aggregate show pool1").unwrap());
    assert!(bench.refused("df -used >3MB").contains("-used: \"3MB\" is not a whole number"), "it counts KB");
    assert_eq!(bench.run("df -used >9000").unwrap(), "There are no entries matching your query.\n");
    assert!(bench.run("df -used >2000").unwrap().contains("/vol/v/"));
}
