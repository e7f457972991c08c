//! Paths: of LUNs (`/vol/VOLUME/LUN`, `/vol/VOLUME/QTREE/LUN`), of files inside a volume, and of
//! junctions.

use super::{ObjectName, ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// The path of a LUN.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LunPath {
    /// The volume that contains it.
    pub volume: ObjectName,
    /// The qtree inside the volume, if it is in one.
    pub qtree: Option<ObjectName>,
    /// The LUN's own name.
    pub lun: ObjectName,
}

/// A file inside a volume, from the volume's root: `/dir/file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(String);

/// Where a volume appears in its SVM's name space: `/vol1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunctionPath(String);

/// The name of an export: the path of a LUN or file, with its SVM in front where that is needed to
/// tell it from others. `svm01:/vol/vol1/lun1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportName {
    /// The SVM, if it is named.
    pub svm: Option<ObjectName>,
    /// The volume.
    pub volume: ObjectName,
    /// The path inside the volume.
    pub path: FilePath,
}

/// Longest path, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;

const EXPORT_RULE: &str = "must be a LUN's or file's path, such as /vol/vol1/lun1 or svm01:/vol/vol1/lun1";
const LUN_RULE: &str = "is not a LUN's path: write /vol/VOLUME/LUN or /vol/VOLUME/QTREE/LUN";

impl FilePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JunctionPath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LunPath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<LunPath, ValueError> {
        let Some(rest) = text.strip_prefix("/vol/") else { return Err(not_a_lun(text)) };
        let part = |name: &str| {
            name.parse::<ObjectName>()
                .map_err(|e| ValueError::new(text, format!("is not a LUN's path: {name:?} {}", e.rule)))
        };
        match rest.split('/').collect::<Vec<_>>()[..] {
            [volume, lun] => Ok(LunPath { volume: part(volume)?, qtree: None, lun: part(lun)? }),
            [volume, qtree, lun] => Ok(LunPath { volume: part(volume)?, qtree: Some(part(qtree)?), lun: part(lun)? }),
            _ => Err(ValueError::new(text, LUN_RULE)),
        }
    }
}

/// Proposes the path with `/vol` in front if that makes it valid.
fn not_a_lun(text: &str) -> ValueError {
    let error = ValueError::new(text, LUN_RULE);
    let bare = text.trim_start_matches('/');
    let mended = format!("/vol/{}", bare.strip_prefix("vol/").unwrap_or(bare));
    if mended.parse::<LunPath>().is_ok() { error.meaning(mended) } else { error }
}

impl fmt::Display for LunPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.qtree {
            Some(qtree) => write!(f, "/vol/{}/{qtree}/{}", self.volume, self.lun),
            None => write!(f, "/vol/{}/{}", self.volume, self.lun),
        }
    }
}

/// An absolute path without empty, `.` and `..` parts, so that everything has only one path.
fn absolute(text: &str, what: &str) -> Result<String, ValueError> {
    let error = |rule: &str| ValueError::new(text, format!("is not {what}: {rule}"));
    let Some(rest) = text.strip_prefix('/') else {
        return Err(error("it must begin with /").meaning(format!("/{text}")));
    };
    if text.len() > PATH_BYTES_MAX {
        return Err(error("it may have 4096 bytes at most"));
    }
    if rest.split('/').any(|part| ["", ".", ".."].contains(&part)) {
        return Err(error("its parts may not be empty, . or .."));
    }
    if rest.chars().any(char::is_control) {
        return Err(error("it may not hold control characters"));
    }
    Ok(text.to_owned())
}

impl FromStr for FilePath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<FilePath, ValueError> {
        absolute(text, "a file's path").map(FilePath)
    }
}

impl FromStr for JunctionPath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<JunctionPath, ValueError> {
        absolute(text, "a junction path").map(JunctionPath)
    }
}

impl FromStr for ExportName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ExportName, ValueError> {
        let wrong = |_| ValueError::new(text, EXPORT_RULE);
        let (svm, path) = match text.split_once(':') {
            Some((svm, path)) => (Some(svm.parse().map_err(wrong)?), path),
            None => (None, text),
        };
        let inside = path.strip_prefix("/vol/").and_then(|inside| inside.split_at_checked(inside.find('/')?));
        let Some((volume, path)) = inside else { return Err(ValueError::new(text, EXPORT_RULE)) };
        Ok(ExportName { svm, volume: volume.parse().map_err(wrong)?, path: path.parse().map_err(wrong)? })
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JunctionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

plain_value!(LunPath, "<path>");
plain_value!(FilePath, "<path>");
plain_value!(JunctionPath, "<path>");
