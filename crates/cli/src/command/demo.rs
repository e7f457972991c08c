//! x
use crate::Answer;
/// x
#[derive(clap::Args)]
pub struct Demo {}
impl Demo {
    pub fn run(self) -> anyhow::Result<Answer> {
        Ok(Answer::Yes)
    }
}
