//! Several volumes, by name: `data,log` or `svm01:data,svm02:log`; `none` for no volume.

use super::{ObjectName, Value, ValueError};
use crate::word::Word;
use std::fmt;

/// A list of volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeList(pub Vec<VolumeName>);

/// A volume, with its SVM if that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeName {
    /// The SVM; if it is not given, there must be only one.
    pub vserver: Option<ObjectName>,
    /// The volume's name there.
    pub volume: ObjectName,
}

impl Value for VolumeList {
    const SYNTAX: &'static str = "<[vserver:]volume>,...|none";
    const CHOICES: &'static [&'static str] = &["none"];

    /// In quotes, `none` is a name.
    fn from_word(word: &Word) -> Result<VolumeList, ValueError> {
        if !word.quoted && word.text.eq_ignore_ascii_case("none") {
            return Ok(VolumeList(Vec::new()));
        }
        word.text.split(',').map(VolumeName::read).collect::<Result<_, _>>().map(VolumeList)
    }
}

impl VolumeName {
    fn read(text: &str) -> Result<VolumeName, ValueError> {
        if text.is_empty() {
            let rule = "names no volume: write names with commas and no blanks between them, or none";
            return Err(ValueError::new(text, rule));
        }
        match text.split_once(':') {
            Some((svm, volume)) => Ok(VolumeName { vserver: Some(svm.parse()?), volume: volume.parse()? }),
            None => Ok(VolumeName { vserver: None, volume: text.parse()? }),
        }
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vserver.iter().try_for_each(|svm| write!(f, "{svm}:"))?;
        self.volume.fmt(f)
    }
}

impl fmt::Display for VolumeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("none"),
            [only] if only.vserver.is_none() && only.volume.as_str().eq_ignore_ascii_case("none") => {
                write!(f, "\"{only}\"")
            }
            names => f.write_str(&names.iter().map(VolumeName::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}
