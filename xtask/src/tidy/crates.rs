//! Dependency directions: pure core ← adapters ← application, as drawn in ARCHITECTURE.md.

use super::{Finding, Source};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Pure crates decide and compute; time, chance and bytes are arguments.
const PURE: [&str; 23] = [
    "admin", "array", "block", "cache", "capacity", "fio", "history", "levels", "map", "nbd", "nearest", "nfs", "oltp",
    "ontap", "orion", "qos", "ramp", "ranread", "report", "stats", "tiers", "tree", "workload",
];
/// Adapters touch the outside world.
const ADAPTERS: [&str; 11] =
    ["api", "cipher", "database", "engine", "immutable", "psk", "results", "server", "storage", "store", "uring"];

/// The program, and the crate that plays its plans.
const APPLICATION: [&str; 2] = ["seawall", "stage"];

/// Crates that all pure crates may use: the shared vocabulary, the nearest word, and the rules of
/// measurement.
const SHARED: [&str; 3] = ["block", "nearest", "stats"];

/// Dependencies between pure crates that join others: the administration (with the meaning of
/// commands for policies and objects, and the history that it shows), billing, front ends with the
/// crate that they unfold into, and pages with the crate of their sections.
const JOINING: [(&str, &str); 23] = [
    ("admin", "history"),
    ("admin", "ontap"),
    ("admin", "qos"),
    ("admin", "report"),
    ("array", "cache"),
    ("array", "qos"),
    ("capacity", "array"),
    ("capacity", "cache"),
    ("capacity", "oltp"),
    ("capacity", "qos"),
    ("capacity", "ramp"),
    ("capacity", "report"),
    ("fio", "workload"),
    ("levels", "history"),
    ("levels", "report"),
    ("oltp", "report"),
    ("oltp", "workload"),
    ("orion", "report"),
    ("orion", "workload"),
    ("ramp", "report"),
    ("ranread", "report"),
    ("ranread", "workload"),
    ("tiers", "report"),
];

/// The adapters that an adapter may use; those that are missing here use none.
const BENEATH: [(&str, &[&str]); 8] = [
    ("api", &["cipher", "server", "uring"]),
    ("cipher", &["psk"]),
    ("database", &["cipher", "uring"]),
    ("storage", &["cipher", "uring"]),
    ("results", &["immutable"]),
    ("store", &["immutable", "uring"]),
    ("engine", &["storage", "uring"]),
    ("server", &["cipher", "store", "uring"]),
];

/// Libraries that only certain crates may use.
const RESERVED: [(&str, &[&str]); 6] = [
    ("rusqlite", &["database", "immutable", "results", "store"]),
    ("io-uring", &["uring"]),
    ("libc", &["uring"]),
    ("hyper", &["api"]),
    ("s2n-tls", &["psk"]),
    ("s2n-tls-tokio", &["psk"]),
];

/// Parts of the standard library that pure crates must not use.
const WORLD: [&str; 6] = ["std::fs", "std::net", "std::thread", "std::time", "std::process", "std::env"];

/// The only crate with unsafe code.
const UNSAFE: &str = "uring";

/// A crate and its dependencies in a normal build, not in tests.
#[derive(Debug, Default)]
pub struct Manifest {
    /// Its folder's name under `crates`, or `xtask`.
    pub name: String,
    /// Its manifest, from the root.
    pub path: String,
    /// The packages it depends on.
    pub uses: Vec<String>,
    /// Whether it takes its lints from the workspace.
    pub shares_lints: bool,
}

/// The manifests of all our crates.
///
/// # Errors
/// Cargo failed.
pub fn manifests(root: &Path) -> Result<Vec<Manifest>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(arguments).current_dir(root).output().context("run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    packages.iter().map(|package| manifest(root, package)).collect()
}

fn manifest(root: &Path, package: &Value) -> Result<Manifest> {
    let path = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let uses = package["dependencies"].as_array().into_iter().flatten();
    let normal = uses.filter(|used| used["kind"].is_null()).filter_map(|used| used["name"].as_str());
    Ok(Manifest {
        name: folder.unwrap_or_default(),
        path: path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned(),
        uses: normal.map(str::to_owned).collect(),
        shares_lints: text
            .split("[lints]")
            .nth(1)
            .is_some_and(|rest| rest.trim_start().starts_with("workspace = true")),
    })
}

/// Violations of the dependency directions.
pub fn check(manifests: &[Manifest]) -> Vec<Finding> {
    let mut found = Vec::new();
    for crate_ in manifests {
        let mut note = |what| found.push(Finding { path: crate_.path.clone(), line: 0, what });
        for used in &crate_.uses {
            if let Some(why) = refusal(&crate_.name, used) {
                note(format!("{} uses {used}: {why}", crate_.name));
            }
        }
        if !crate_.shares_lints && crate_.name != UNSAFE {
            note("takes its lints from elsewhere; write [lints] workspace = true".into());
        }
    }
    found
}

/// Why `user` must not depend on `used`, if so.
fn refusal(user: &str, used: &str) -> Option<String> {
    let (ours, pure) = (|name| PURE.contains(&name) || ADAPTERS.contains(&name), PURE.contains(&user));
    if pure && ADAPTERS.contains(&used) {
        return Some("a pure crate never uses one that touches the world".into());
    }
    if pure && ours(used) && !SHARED.contains(&used) && !JOINING.contains(&(user, used)) {
        return Some(format!("pure crates share only {} and are joined by the application", SHARED.join(" and ")));
    }
    let beneath = |user| BENEATH.iter().find(|(name, _)| *name == user).map_or(&[][..], |(_, beneath)| beneath);
    if ADAPTERS.contains(&user) && ADAPTERS.contains(&used) && !beneath(user).contains(&used) {
        return Some("among the adapters, arrows point from engine to storage to uring, and none back".into());
    }
    if (pure || ADAPTERS.contains(&user)) && APPLICATION.contains(&used) {
        return Some("nothing uses the program".into());
    }
    if pure && used.starts_with("tracing") {
        return Some("a pure crate writes no log".into());
    }
    let (_, allowed) = RESERVED.iter().find(|(library, _)| *library == used)?;
    (!allowed.contains(&user)).then(|| format!("only {} may", allowed.join(", ")))
}

/// Violations in the code: pure crates that use the outside world, and `unsafe` elsewhere.
pub fn check_sources(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".rs")) {
        let folder =
            source.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")).map(|(name, _)| name);
        let pure = folder.is_some_and(|name| PURE.contains(&name));
        for (index, line) in source.text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]")) {
            let code = line.split("//").next().unwrap_or(line);
            let mut note = |what| found.push(Finding { path: source.path.clone(), line: index + 1, what });
            if let Some(world) = WORLD.iter().find(|world| pure && code.contains(*world)) {
                note(format!("{world} in a pure crate; take it as an argument"));
            }
            let is_unsafe = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe");
            if is_unsafe && !code.contains('"') && folder != Some(UNSAFE) && !source.path.starts_with("crates/uring/") {
                note(format!("unsafe code belongs in {UNSAFE}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, uses: &[&str]) -> Manifest {
        let uses = uses.iter().map(|used| (*used).to_owned()).collect();
        Manifest { name: name.into(), path: format!("crates/{name}/Cargo.toml"), uses, shares_lints: true }
    }

    #[test]
    fn arrows_point_inwards() {
        let good = [manifest("qos", &["block", "thiserror"]), manifest("store", &["block", "uring", "rusqlite"])];
        assert_eq!(check(&good), []);
        for (user, used) in [
            ("qos", "uring"),
            ("qos", "workload"),
            ("nbd", "tracing"),
            ("engine", "rusqlite"),
            ("store", "io-uring"),
            ("cli", "libc"),
            ("server", "seawall"),
            ("engine", "stage"),
            ("oltp", "stage"),
            ("storage", "engine"),
            ("uring", "storage"),
            ("engine", "store"),
        ] {
            assert_eq!(check(&[manifest(user, &[used])]).len(), 1, "{user} uses {used}");
        }
    }

    #[test]
    fn lints_come_from_one_place() {
        let own = |name| Manifest { shares_lints: false, ..manifest(name, &[]) };
        assert_eq!(check(&[own("qos")]).len(), 1);
        assert_eq!(check(&[own("uring")]), []);
    }

    #[test]
    fn a_pure_crate_does_not_reach_for_the_world_but_its_tests_may() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let reaching = "//! x\nuse std::time::Instant;\n";
        assert_eq!(check_sources(&[source("crates/qos/src/a.rs", reaching)]).len(), 1);
        assert_eq!(check_sources(&[source("crates/qos/tests/a.rs", reaching)]), []);
        assert_eq!(check_sources(&[source("crates/store/src/a.rs", reaching)]), []);
        let tested = "//! x\n// std::time is no argument\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(check_sources(&[source("crates/qos/src/a.rs", tested)]), []);
    }

    #[test]
    fn unsafe_stays_in_its_place() {
        let source = |path: &str| Source { path: path.into(), text: "fn f() { unsafe { g() } }\n".into() };
        assert_eq!(check_sources(&[source("crates/store/src/a.rs")]).len(), 1);
        assert_eq!(check_sources(&[source("crates/uring/src/a.rs")]), []);
    }
}
