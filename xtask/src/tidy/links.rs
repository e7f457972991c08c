//! Links from one of our pages to another file of ours, which must exist, also after files were
//! renamed.

use super::{Finding, Source};
use std::collections::HashSet;
use std::path::{Component, Path};

/// Broken links of all pages.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let files: HashSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let is_there = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        files.contains(path) || files.iter().any(|file| file.starts_with(&folder))
    };
    let pages = sources.iter().filter(|source| source.path.ends_with(".md"));
    let broken = |page: &Source| {
        let targets = page.text.lines().enumerate().flat_map(|(line, text)| links(text).map(move |link| (line, link)));
        let gone = targets.filter(|(_, link)| !leads(&page.path, link).is_some_and(|path| is_there(&path)));
        let finding = |(line, link): (usize, &str)| Finding {
            path: page.path.clone(),
            line: line + 1,
            what: format!("a link leads to {link}, which is not there; correct it"),
        };
        gone.map(finding).collect::<Vec<_>>()
    };
    pages.flat_map(broken).collect()
}

/// The targets in a line's links that are files of ours, without the anchor.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
}

/// The target of a page's link, from the root; `None` outside of the repository.
fn leads(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let text = "[a](b.md) and [c](../src/x.rs#L3)\n[gone](x.md), [up](../../y.md), [site](https://x.org/z.md) [part](#b)\n";
        let found = check(&[source("docs/a.md", text), source("docs/b.md", ""), source("src/x.rs", "")]);
        let lines: Vec<(usize, &str)> = found.iter().map(|found| (found.line, found.what.as_str())).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], (2, "a link leads to x.md, which is not there; correct it"));
        assert!(lines[1].1.contains("../../y.md"), "outside of the repository");
        assert_eq!(check(&[source("a.md", "[folder](docs/)"), source("docs/b.md", "")]), []);
    }
}
