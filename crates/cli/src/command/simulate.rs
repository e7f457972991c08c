//! x
use crate::Answer;
/// x
#[derive(clap::Args)]
pub struct Simulate {}
impl Simulate {
    pub fn run(self) -> anyhow::Result<Answer> {
        Ok(Answer::Yes)
    }
}
