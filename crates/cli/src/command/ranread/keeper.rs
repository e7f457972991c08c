//! The kept runs of batches, from which the classic rows are made.

use crate::memory::Memory;
use anyhow::{Result, bail};
use results::{Filter, Results};
use stats::run::Run;

/// The name of the command in the database.
pub const TOOL: &str = "ranread";

/// All runs of batches that read storage and not a simulated one, in their order.
///
/// # Errors
/// There is no results database, or it cannot be read.
pub fn runs(memory: &Memory) -> Result<Vec<Run>> {
    let Some(database) = database(memory)? else { return Ok(Vec::new()) };
    numbers(&database)?.into_iter().map(|number| Ok(database.load(number)?)).collect()
}

/// Deletes them.
///
/// # Errors
/// There is no results database, or it cannot be written.
pub fn delete_all(memory: &Memory) -> Result<()> {
    let Some(mut database) = database(memory)? else { return Ok(()) };
    numbers(&database)?.into_iter().try_for_each(|number| Ok(database.delete(number)?))
}

/// `None` if nothing was ever kept.
fn database(memory: &Memory) -> Result<Option<Results>> {
    let Some(file) = memory.file() else {
        bail!("--results: there is no results database, where the rows of all batches are; name one");
    };
    if file.exists() { Ok(Some(Results::open_existing(&file)?)) } else { Ok(None) }
}

fn numbers(database: &Results) -> Result<Vec<i64>> {
    let lines = database.list(&Filter { tool: Some(TOOL.into()), ..Filter::default() })?;
    Ok(lines.iter().filter(|line| !line.simulated).map(|line| line.id).collect())
}
