//! Programs that are run before or after a job.

use std::fs::File;
use std::process::{Command, Stdio};
use workload::job;

/// Runs a command with the shell, its output redirected to its file; an error is a message for the
/// user.
pub(super) fn run(command: &job::Command) -> Result<(), String> {
    let job::Command { line, output } = command;
    let failed = |what: String| format!("the command {line:?}: {what}");
    let file = File::create(output).map_err(|error| failed(format!("{}: {error}", output.display())))?;
    let errors = file.try_clone().map_err(|error| failed(error.to_string()))?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).stdin(Stdio::null()).stdout(file).stderr(errors);
    let status = shell.status().map_err(|error| failed(error.to_string()))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(format!("ended with {status}; its output is in {}", output.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_kept_and_its_failure_told() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.txt");
        let command = |line: &str| job::Command { line: line.into(), output: output.clone() };
        assert_eq!(run(&command("echo one; echo two >&2")), Ok(()));
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "one\ntwo\n");
        let said = run(&command("exit 3")).unwrap_err();
        assert!(said.starts_with("the command \"exit 3\": ended with exit status: 3; its output is in "), "{said}");
    }
}
