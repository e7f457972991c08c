//! Checks that the outputs of a command can be written, before it does anything.

use anyhow::{Result, bail};
use std::fs::{File, OpenOptions};
use std::io;
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
    check_file("--output", output)
}

/// Checks that the file of an option can be written at the end. An existing file stays unchanged
/// until then.
pub fn check_file(option: &str, path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = match path.exists() {
        true => OpenOptions::new().append(true).open(path).map(drop),
        false => makes_files(parent),
    };
    if let Err(error) = written {
        bail!("{option} {}: cannot be written ({error}); name another file", path.display());
    }
    Ok(())
}

/// [`check_file`] for several options, which must name different files.
pub fn check_files(files: &[(&str, &Path)]) -> Result<()> {
    for (number, (option, path)) in files.iter().enumerate() {
        check_file(option, path)?;
        if let Some((other, _)) = files[..number].iter().find(|(_, other)| is_one_file(other, path)) {
            bail!("{option} {}: is the file of {other}, too; name another file", path.display());
        }
    }
    Ok(())
}

/// Whether one would overwrite the other. Something that is not a file, such as a terminal, takes
/// both.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        if path.exists() {
            return path.canonicalize().ok().filter(|path| path.is_file());
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

fn makes_files(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".seawall-{}", std::process::id()));
    File::create(&probe).and_then(|_| std::fs::remove_file(&probe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_refused_and_what_is_there_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kept.html");
        std::fs::write(&file, "before").expect("written");
        assert!(check_file("--page", &file).is_ok() && check_new(&file).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "before");
        assert!(check_file("--page", &folder.path().join("new.html")).is_ok());
        for (path, words) in [
            (folder.path().join("none").join("new.html"), "No such file or directory"),
            (folder.path().to_path_buf(), "Is a directory"),
        ] {
            let said = check_file("--page", &path).expect_err("it cannot be").to_string();
            assert!(said.starts_with("--page ") && said.contains(words), "{said}");
        }
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    }

    #[test]
    fn one_file_is_not_taken_for_two_outputs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (new, there) = (folder.path().join("new"), folder.path().join("there"));
        std::fs::write(&there, "before").expect("written");
        std::os::unix::fs::symlink(&there, folder.path().join("link")).expect("linked");
        for (one, same) in [(&new, folder.path().join("./new")), (&there, folder.path().join("link"))] {
            let said = check_files(&[("--csv", one), ("--xml", &same)]).expect_err("it is one").to_string();
            assert!(said.starts_with("--xml ") && said.contains("is the file of --csv, too"), "{said}");
        }
        check_files(&[("--csv", &new), ("--xml", &there)]).expect("they are two");
        check_files(&[("--csv", Path::new("/dev/null")), ("--xml", Path::new("/dev/null"))]).expect("nothing is lost");
    }
}
