//! Checks that the outputs of a command can be written, before it does anything.

use anyhow::{Context as _, Result, bail};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Checks that results can be written into the folder of `--out`.
pub fn check_out(out: &Path) -> Result<()> {
    if out.exists() && !out.is_dir() {
        bail!("--out {}: must be a folder, and this is a file; name another place", out.display());
    }
    // If it does not exist yet, the folder in which it would be created is checked.
    let place = out.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("."));
    if let Err(error) = makes_files(place) {
        bail!("--out {}: cannot be written ({error}); name another place", out.display());
    }
    Ok(())
}

/// Checks that a new file can be created for `--output`; an existing one is never overwritten.
pub fn check_new(output: &Path) -> Result<()> {
    if output.exists() {
        bail!("--output {}: is there already; name another file", output.display());
    }
    Output { option: "--output", path: output, kind: Kind::Any }.check()
}

/// A file that an option names, and what is written to it.
///
/// Nothing else is overwritten: an existing file must be empty or an earlier one of its kind. So no
/// output replaces a results database or an input, whatever leads to it.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The option, for messages.
    pub option: &'a str,
    /// The file.
    pub path: &'a Path,
    /// What is written.
    pub kind: Kind,
}

/// What a file holds.
#[derive(Clone, Copy)]
pub enum Kind {
    /// An HTML page.
    Page,
    /// An SVG drawing.
    Drawing,
    /// A workbook (XLSX).
    Workbook,
    /// A Parquet file.
    Parquet,
    /// A table or document that begins so.
    Text(&'static str),
    /// What a tool writes that overwrites any file; here no database and no device.
    Any,
}

impl Kind {
    /// What such a file begins with, and its name.
    fn look(self) -> (&'static str, &'static str) {
        match self {
            Kind::Page => ("<!DOCTYPE html>", "an HTML page"),
            Kind::Drawing => ("<svg", "an SVG drawing"),
            Kind::Workbook => ("PK\x03\x04", "a workbook"),
            Kind::Parquet => ("PAR1", "a Parquet file"),
            Kind::Text(begins) => (begins, "an earlier output of this kind"),
            Kind::Any => ("", ""),
        }
    }
}

/// What a SQLite database begins with.
const DATABASE: &str = "SQLite format 3\0";

impl<'a> Output<'a> {
    /// The file of an option, if it was given.
    pub fn of(option: &'a str, path: Option<&'a (impl AsRef<Path> + ?Sized)>, kind: Kind) -> Option<Output<'a>> {
        path.map(|path| Output { option, path: path.as_ref(), kind })
    }

    /// Checks that the file can be written at the end. An existing one stays unchanged until then.
    ///
    /// # Errors
    /// It cannot be written, or something else is in it.
    pub fn check(&self) -> Result<()> {
        self.must_not_be_another()?;
        let written = match self.path.exists() {
            true => OpenOptions::new().append(true).open(self.path).map(drop),
            false => makes_files(folder_of(self.path)),
        };
        if let Err(error) = written {
            bail!("{} {}: cannot be written ({error}); name another file", self.option, self.path.display());
        }
        Ok(())
    }

    /// Writes the file. It is checked again, since it may have been made after [`Output::check`].
    ///
    /// # Errors
    /// It cannot be written, or something else is in it.
    pub fn write(&self, content: impl AsRef<[u8]>) -> Result<()> {
        self.must_not_be_another()?;
        std::fs::write(self.path, content).with_context(|| format!("{} {}", self.option, self.path.display()))
    }

    fn must_not_be_another(&self) -> Result<()> {
        let Ok(about) = std::fs::metadata(self.path) else { return Ok(()) };
        let named = format!("{} {}", self.option, self.path.display());
        if about.file_type().is_block_device() {
            bail!("{named}: is a device; name a file");
        }
        if !about.is_file() {
            return Ok(());
        }
        let (begins, name) = self.kind.look();
        let mut head = Vec::new();
        let wanted = begins.len().max(DATABASE.len()) as u64;
        let read = File::open(self.path).and_then(|file| file.take(wanted).read_to_end(&mut head));
        read.with_context(|| named.clone())?;
        if head.starts_with(DATABASE.as_bytes()) {
            bail!("{named}: is a database; it was left alone, name another file");
        }
        if !head.is_empty() && !head.starts_with(begins.as_bytes()) {
            bail!("{named}: is there and is not {name}; it was left alone, name another file");
        }
        Ok(())
    }
}

/// The file that was typed; `None` for `-`, standard output.
pub fn named(typed: &Path) -> Option<&Path> {
    (typed.as_os_str() != "-").then_some(typed)
}

/// [`Output::check`] for all of a command, which must be different files.
///
/// # Errors
/// Those of one, or two are one file.
pub fn check_all(outputs: &[Option<Output<'_>>]) -> Result<()> {
    let outputs: Vec<&Output<'_>> = outputs.iter().flatten().collect();
    for (number, output) in outputs.iter().enumerate() {
        output.check()?;
        if let Some(other) = outputs[..number].iter().find(|other| is_one_file(other.path, output.path)) {
            let Output { option, path, .. } = output;
            bail!("{option} {}: is the file of {}, too; name another file", path.display(), other.option);
        }
    }
    Ok(())
}

/// Whether one would overwrite the other. Something that is not a file, such as a terminal, takes
/// both.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    if let (Ok(one), Ok(other)) = (std::fs::metadata(one), std::fs::metadata(other)) {
        return one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    let place = |path: &Path| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    place(one).is_some_and(|one| place(other) == Some(one))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn makes_files(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".seawall-{}", std::process::id()));
    File::create(&probe).and_then(|_| std::fs::remove_file(&probe))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &Path) -> Output<'_> {
        Output { option: "--page", path, kind: Kind::Page }
    }

    #[test]
    fn what_cannot_be_written_is_refused_and_what_is_there_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kept.html");
        let before = report::Page::default().render();
        std::fs::write(&file, &before).expect("written");
        assert!(page(&file).check().is_ok() && check_new(&file).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), before);
        assert!(page(&folder.path().join("new.html")).check().is_ok());
        for (path, words) in [
            (folder.path().join("none").join("new.html"), "No such file or directory"),
            (folder.path().to_path_buf(), "Is a directory"),
        ] {
            let said = page(&path).check().expect_err("it cannot be").to_string();
            assert!(said.starts_with("--page ") && said.contains(words), "{said}");
        }
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    }

    /// A file is overwritten by what it held before and by nothing else, also by a link.
    #[test]
    fn only_an_earlier_output_is_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("there"), folder.path().join("link"));
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        let axis = || report::chart::Axis::from_zero(1.0);
        let drawing = report::picture::of(&report::chart::Chart::new("", axis(), axis()));
        let (table, other) = (Kind::Text("second,done"), Kind::Text("from,to"));
        let kinds = [Kind::Page, Kind::Drawing, Kind::Workbook, table, other, Kind::Any];
        for (content, takes) in [
            (report::Page::default().render().into_bytes(), [true, false, false, false, false, true]),
            (drawing.into_bytes(), [false, true, false, false, false, true]),
            (report::workbook::Workbook::default().render().expect("a book"), [false, false, true, false, false, true]),
            (b"second,done,failed\n1,2,0\n".to_vec(), [false, false, false, true, false, true]),
            (b"[tier]\nnumber = 1\n".to_vec(), [false, false, false, false, false, true]),
            (b"SQLite format 3\0 and more".to_vec(), [false; 6]),
            (Vec::new(), [true; 6]),
        ] {
            for (kind, takes) in kinds.into_iter().zip(takes) {
                std::fs::write(&file, &content).expect("written");
                let output = Output { option: "--output", path: &link, kind };
                assert_eq!(output.check().is_ok(), takes, "{} over {content:?}", kind.look().1);
                assert_eq!(output.write("new").is_ok(), takes);
                let is = std::fs::read(&file).expect("it is there");
                assert_eq!(is, if takes { b"new".to_vec() } else { content.clone() });
            }
        }
    }

    #[test]
    fn one_file_is_not_taken_for_two_outputs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (new, there, hard) = (folder.path().join("new"), folder.path().join("there"), folder.path().join("hard"));
        std::fs::write(&there, "before").expect("written");
        std::fs::hard_link(&there, &hard).expect("linked");
        std::os::unix::fs::symlink(&there, folder.path().join("link")).expect("linked");
        fn two<'a>(csv: &'a Path, xml: &'a Path) -> [Option<Output<'a>>; 2] {
            [("--csv", csv), ("--xml", xml)].map(|(option, path)| Output::of(option, Some(path), Kind::Any))
        }
        for (one, same) in
            [(&new, folder.path().join("./new")), (&there, folder.path().join("link")), (&there, hard.clone())]
        {
            let said = check_all(&two(one, &same)).expect_err("it is one").to_string();
            assert!(said.starts_with("--xml ") && said.contains("is the file of --csv, too"), "{said}");
        }
        check_all(&two(&new, &there)).expect("they are two");
        check_all(&two(Path::new("/dev/null"), Path::new("/dev/null"))).expect("nothing is lost");
    }
}
