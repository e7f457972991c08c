//! The files of a clone: `$jobname.$jobnum.$filenum` in its directory, or those named by
//! `filename`. `$jobname` is the name of the section, whatever `name` is, as in fio.
//!
//! Lists are separated by colons; a colon within a name is written `\:`. Given names are shared by
//! all clones; if `nrfiles` follows them, only that many are used. Clones take turns with the
//! folders.

use crate::options::TargetOptions;
use block::Bytes;

/// The properties of a clone that the names of its files depend on.
#[derive(Clone, Copy, Debug)]
pub struct Namer<'o> {
    /// Its options.
    pub target: &'o TargetOptions,
    /// The name of the job's section.
    pub section: &'o str,
    /// The number of the clone, from 0.
    pub number: u32,
}

impl Namer<'_> {
    /// The paths of its files, in order.
    pub fn paths(&self) -> Vec<String> {
        let names: Vec<String> = match &self.target.filename {
            Some(list) => split(list).into_iter().take(self.target.nrfiles as usize).collect(),
            None => (0..self.target.nrfiles).map(|file| self.generated(file)).collect(),
        };
        let folder = self.folder();
        names.into_iter().map(|name| join(folder.as_deref(), &name)).collect()
    }

    fn folder(&self) -> Option<String> {
        let folders = split(self.target.directory.as_deref()?);
        let turn = (self.number as usize).checked_rem(folders.len())?;
        folders.into_iter().nth(turn)
    }

    fn generated(&self, file: u32) -> String {
        let format = &self.target.filename_format;
        // fio replaces $jobname, $jobnum and $filenum; an empty format is its old one.
        let format = if format.is_empty() { "$jobname.$jobnum.$filenum" } else { format };
        format
            .replace("$jobname", self.section)
            .replace("$jobnum", &self.number.to_string())
            .replace("$filenum", &file.to_string())
    }
}

/// The URI of a file in a folder on an NFS server, with the query of the folder's own URI. A load
/// that writes extends the file to `end`, unless the folder's URI gives a size.
pub fn nfs_file(folder: &str, file: &str, end: Option<Bytes>) -> String {
    let (path, query) = folder.split_once('?').unwrap_or((folder, ""));
    // Characters that are plain in a name and special in a URI.
    let file = file.replace('%', "%25").replace('?', "%3F");
    let has_size = query.split('&').any(|pair| pair.starts_with("size="));
    let end = end.filter(|_| !has_size).map(|end| format!("size={}", end.0));
    let pairs = [query.to_owned(), end.unwrap_or_default()];
    let pairs = pairs.iter().filter(|pairs| !pairs.is_empty()).map(String::as_str).collect::<Vec<_>>().join("&");
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("{}/{}{mark}{pairs}", path.trim_end_matches('/'), file.trim_start_matches('/'))
}

/// The parts of a list; `\:` is a colon within a part.
pub fn split(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                parts[last].push(':');
            }
            ':' => parts.push(String::new()),
            _ => parts[last].push(c),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn join(folder: Option<&str>, name: &str) -> String {
    match folder {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(target: &TargetOptions, number: u32) -> Vec<String> {
        Namer { target, section: "n", number }.paths()
    }

    /// fio 3.33 made n.0.0 n.0.1 n.0.2 n.1.0 n.1.1 n.1.2 for nrfiles=3 numjobs=2.
    #[test]
    fn generated_names_carry_job_clone_and_file() {
        let target = TargetOptions { nrfiles: 3, ..TargetOptions::default() };
        assert_eq!(paths(&target, 0), ["n.0.0", "n.0.1", "n.0.2"]);
        assert_eq!(paths(&target, 1), ["n.1.0", "n.1.1", "n.1.2"]);
        let target = TargetOptions { filename_format: "f_$filenum_$jobnum".into(), ..target };
        assert_eq!(paths(&target, 1)[2], "f_2_1");
    }

    #[test]
    fn folders_take_turns_and_given_names_are_shared() {
        let directory = Some("/a:/b/".into());
        let target = TargetOptions { directory, ..TargetOptions::default() };
        assert_eq!((paths(&target, 0), paths(&target, 1)), (vec!["/a/n.0.0".into()], vec!["/b/n.1.0".into()]));
        let target = TargetOptions { filename: Some("x:y\\:z".into()), nrfiles: 2, ..target };
        assert_eq!(paths(&target, 3), ["/b/x", "/b/y:z"]);
        let target = TargetOptions { directory: None, ..target };
        assert_eq!(paths(&target, 3), ["x", "y:z"]);
        assert_eq!(paths(&TargetOptions { nrfiles: 1, ..target.clone() }, 3), ["x"]);
        assert_eq!(paths(&TargetOptions { nrfiles: 7, ..target }, 3), ["x", "y:z"]);
    }
}
