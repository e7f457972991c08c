//! A ramp in virtual time: the same machine, over one simulated device that holds the data and the
//! journals.
//!
//! ```text
//!   │ data … │ write image journal │ transaction journal │
//! ```

use super::Storage;
use anyhow::{Result, bail};
use array::VirtualClock;
use block::{Bytes, ObjectId, Span, Target};
use engine::Hub;
use ramp::{
    BLOCK, CycleMachine, DataFile, Layout, NoContents, Progress, RampLoad, RampSettings, RunOutcome, RunSetup, Spot,
};
use stage::device::built;
use std::path::Path;
use workload::plan::Device;

/// The whole device.
const DEVICE: ObjectId = ObjectId(0);
/// How often progress is reported, in virtual time.
const LOOK: Span = Span::from_secs(10);

/// A device, and the layout on it. It is kept from run to run, like a real one.
pub struct SimulatedStorage {
    clock: VirtualClock,
    hub: Hub<Box<dyn Target>>,
    layout: Layout,
    data: Bytes,
    about: String,
}

impl SimulatedStorage {
    /// A device as large as `data` and the journals of these runs.
    ///
    /// # Errors
    /// The data is smaller than the largest burst, or two figures of the device contradict each
    /// other.
    pub fn new(device: &Device, data: Bytes, settings: &RampSettings) -> Result<SimulatedStorage> {
        let data = Bytes(data.0 / BLOCK * BLOCK);
        let burst = settings.loads().iter().map(|load| load.burst).max().unwrap_or(0);
        enough(data, burst)?;
        let wij = Spot { object: DEVICE, at: data.0, bytes: Layout::wij_need(burst) };
        let stream = Spot { object: DEVICE, at: wij.at + wij.bytes, bytes: Layout::stream_need() };
        let files = vec![DataFile { object: DEVICE, at: 0, blocks: data.0 / BLOCK }];
        let target = built(device, Bytes(stream.at + stream.bytes), settings.seed)?;
        Ok(SimulatedStorage {
            clock: VirtualClock::new(),
            hub: Hub::new(target),
            layout: Layout::new(files, wij).with_stream(stream),
            data,
            about: device.to_string(),
        })
    }
}

/// Refuses data with fewer blocks than the largest write cycle writes.
fn enough(data: Bytes, burst: u64) -> Result<()> {
    let need = burst.max(1).saturating_mul(BLOCK);
    if data.0 < need {
        let mib = need.div_ceil(1 << 20);
        bail!(
            "--data: must be at least {mib}MiB for the largest write cycle of {burst} blocks of 8 KiB, got {data}; give more, \
             or lower --maxiops or --cycle"
        );
    }
    Ok(())
}

impl Storage for SimulatedStorage {
    fn names(&self) -> String {
        format!("simulated: {}", self.about)
    }

    fn folder(&self) -> Option<&Path> {
        None
    }

    fn size(&self) -> Bytes {
        self.data
    }

    fn name_of(&self, _object: ObjectId) -> String {
        "the simulated device".into()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("in virtual time, {} of data on: {}", self.data, self.about)]
    }

    fn play(
        &mut self,
        _settings: &RampSettings,
        load: &RampLoad,
        setup: &RunSetup,
        _run: u64,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(RunOutcome, String)> {
        let target = Box::new(self.hub.socket());
        let start = block::Driver::now(&self.clock);
        let machine = CycleMachine::new(target, Box::new(NoContents), self.layout.clone(), load, setup, start)?;
        Ok((machine.run(&mut self.clock, LOOK, watch), "virtual time".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 blocks are 8 192 000 bytes, which 7 MiB do not hold and 8 MiB do.
    #[test]
    fn data_has_room_for_the_largest_burst() {
        let refused = enough(Bytes::mib(7), 1000).unwrap_err().to_string();
        assert!(
            refused.starts_with("--data: must be at least 8MiB for the largest write cycle of 1000 blocks"),
            "{refused}"
        );
        assert!(refused.contains("got 7 MiB; give more"), "{refused}");
        assert!(enough(Bytes::mib(8), 1000).is_ok());
        assert!(enough(Bytes(0), 0).is_err());
    }
}
