//! `--showcmd`: prints job files as an equivalent command line.
//!
//! The output is fio's, with three differences. A value with special characters is quoted for the
//! shell. A second global section begins with `--name=global`; fio prints its options after the
//! last job, so that they become options of that job. Options of the command line come first and
//! are not repeated for each file.

use crate::catalogue;
use crate::invocation::Invocation;
use crate::script::{Section, Setting};

impl Invocation {
    /// The command line of the job files, with a newline at the end.
    pub fn command(&self) -> String {
        let mut words = vec!["fio".to_owned()];
        let typed = self.scripts.iter().filter(|script| script.file.is_none());
        let filed = self.scripts.iter().filter(|script| script.file.is_some());
        let has_files = filed.clone().next().is_some();
        let mut jobs = 0;
        for script in typed.chain(filed) {
            let is_typed = script.file.is_none();
            for section in &script.sections {
                let is_wanted = section.is_global
                    || is_typed
                    || self.flags.sections.is_empty()
                    || self.flags.sections.contains(&section.name);
                // fio omits the command line's own jobs if there are files.
                if !is_wanted || (is_typed && has_files && !section.is_global) {
                    continue;
                }
                append(&mut words, section, jobs);
                jobs += usize::from(!section.is_global);
            }
        }
        words.push(String::new());
        words.join(" ") + "\n"
    }
}

fn append(words: &mut Vec<String>, section: &Section, jobs_before: usize) {
    if !section.is_global || jobs_before > 0 {
        words.push(quoted(&format!("--name={}", section.name)));
    }
    let mut settings: Vec<&Setting> = section.settings.iter().collect();
    // In fio's reading order; on a command line the order is kept, since it matters there.
    settings.sort_by_key(|setting| catalogue::find(&setting.option).map_or(0, |definition| definition.rank()));
    words.extend(settings.into_iter().map(|setting| match &setting.value {
        Some(value) => quoted(&format!("--{}={value}", setting.option)),
        None => format!("--{}", setting.option),
    }));
}

/// A word, quoted for the shell if necessary.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
