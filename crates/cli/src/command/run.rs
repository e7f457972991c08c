//! x
use crate::Answer;
/// x
#[derive(clap::Args)]
pub struct Run {}
impl Run {
    pub fn run(self) -> anyhow::Result<Answer> {
        Ok(Answer::Yes)
    }
}
