//! A connection to a running server through its control socket, like that of the shell.

use anyhow::{Context as _, Result, bail};
use levels::Existing;
use serde_json::Value;
use server::ControlClient;
use std::path::Path;
use store::CONTROL_SOCKET;

/// The connection.
pub struct Server(ControlClient);

impl Server {
    /// Connects to the server of a pool.
    ///
    /// # Errors
    /// No server answers.
    pub fn connect(pool: &Path) -> Result<Server> {
        ControlClient::connect(&pool.join(CONTROL_SOCKET)).map(Server).with_context(|| {
            let pool = pool.display();
            format!("--pool {pool}: no server answers there; `seawall serve --pool {pool}` starts one")
        })
    }

    /// Runs a command. The inner result is the answer or the refusal.
    ///
    /// # Errors
    /// The connection was lost.
    pub fn run(&mut self, line: &str) -> Result<Result<String, String>> {
        self.0.run(line).context("the server went away")
    }

    /// The names of its SVMs.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn svms(&mut self) -> Result<Vec<String>> {
        Ok(self.records("vserver show")?.iter().map(|record| text(record, "vserver")).collect())
    }

    /// Its adaptive policy groups.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn policies(&mut self) -> Result<Vec<Existing>> {
        let records = self.records("qos adaptive-policy-group show -instance")?;
        let number = |record: &Value, field: &str| record[field].as_u64().unwrap_or(0);
        let existing = |record: &Value| Existing {
            name: text(record, "policy_group"),
            expected: number(record, "expected_iops"),
            peak: number(record, "peak_iops"),
            absolute_min: number(record, "absolute_min_iops"),
            expected_space: text(record, "expected_iops_allocation"),
            peak_space: text(record, "peak_iops_allocation"),
            block_bytes: record["block_size"].as_u64(),
        };
        Ok(records.iter().map(existing).collect())
    }

    fn records(&mut self, line: &str) -> Result<Vec<Value>> {
        let answer = match self.run(&format!("{line} -output json"))? {
            Ok(answer) => answer,
            Err(refusal) => bail!("{line}: {refusal}"),
        };
        let answer: Value =
            serde_json::from_str(&answer).with_context(|| format!("the server's answer to {line:?}"))?;
        Ok(answer["records"].as_array().cloned().unwrap_or_default())
    }
}

fn text(record: &Value, field: &str) -> String {
    record[field].as_str().unwrap_or_default().to_owned()
}
