//! A model of the catalogue beside the maps: a separate store, whose change becomes durable at one
//! instant. A change is announced in the end, made, and confirmed in the end; the power may fail
//! between any of these.

use crate::disk::{Disk, SECTOR};
use block::Fault;
use map::{Agreed, Edition, Media, PAGE, Region, Report, Standing};

/// The progress of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Announcing,
    Announced,
    /// The catalogue has it, but it is not confirmed yet.
    Made,
    Confirming,
}

pub struct Catalogue {
    /// Its durable edition.
    has: Edition,
    /// The edition that is being created.
    next: Edition,
    /// The last edition whose confirmation was answered.
    answered: Edition,
    stage: Stage,
    touched: Vec<u32>,
}

impl Catalogue {
    pub fn new() -> Catalogue {
        let none = Edition::default();
        Catalogue { has: none, next: none, answered: none, stage: Stage::Idle, touched: Vec::new() }
    }

    /// Advances by a step; returns what to record in the end. `chance` is any number.
    pub fn step(&mut self, chance: u64) -> Option<Agreed> {
        match self.stage {
            Stage::Idle => {
                self.stage = Stage::Announcing;
                self.next = Edition { generation: self.has.generation + 1, digest: chance as u32 };
                // Sometimes so many that the end takes several pages.
                let count = if chance.is_multiple_of(16) { 3000 } else { chance % 5 };
                self.touched = (0..count).map(|tree| tree as u32 + 1).collect();
                let agreed = Agreed::on(self.has);
                Some(Agreed { announced: self.next.generation, touched: self.touched.clone(), ..agreed })
            }
            Stage::Announced => {
                // If the disk refuses it, it is as if it had not been asked for.
                self.stage = if chance.is_multiple_of(8) { Stage::Idle } else { Stage::Made };
                self.has = if self.stage == Stage::Made { self.next } else { self.has };
                None
            }
            Stage::Made => {
                self.stage = Stage::Confirming;
                Some(Agreed { touched: self.touched.clone(), ..Agreed::on(self.has) })
            }
            Stage::Announcing | Stage::Confirming => None,
        }
    }

    /// What it wanted to be recorded was recorded, or could not be.
    pub fn kept(&mut self, is_kept: bool) {
        self.stage = match (self.stage, is_kept) {
            (Stage::Announcing, true) => Stage::Announced,
            (Stage::Announcing, false) => Stage::Idle,
            (Stage::Confirming, true) => {
                self.answered = self.has;
                Stage::Idle
            }
            (Stage::Confirming, false) => Stage::Made,
            (stage, _) => panic!("nothing was to be kept: {stage:?}"),
        };
    }

    /// After a crash: it must be recognised as correct, an older one as older, and a confirmed one
    /// as exactly that. Returns whether a change was interrupted.
    pub fn look(&mut self, agreed: &Agreed) -> bool {
        let standing = agreed.standing(self.has);
        let was_cut_off = self.stage != Stage::Idle;
        match standing {
            Standing::Confirmed => {}
            Standing::Announced => assert!(was_cut_off && agreed.touched == self.touched, "{agreed:?}"),
            other => panic!("the catalogue {:?} is taken for {other:?} by {agreed:?}", self.has),
        }
        for generation in 0..self.answered.generation {
            assert_eq!(agreed.standing(Edition { generation, digest: 1 }), Standing::Older, "{agreed:?}");
        }
        let changed = Edition { digest: !self.answered.digest, ..self.answered };
        assert_ne!(agreed.standing(changed), Standing::Confirmed, "{agreed:?}");
        // The next server confirms what it finds.
        self.stage = if was_cut_off { Stage::Made } else { Stage::Idle };
        was_cut_off
    }
}

/// The disk with a damaged first sector in the last record of the log.
pub struct Damaged<'d> {
    disk: &'d mut Disk,
    page: u64,
}

impl Damaged<'_> {
    /// `None` if the log has no record, or if the end does not know of the last one yet.
    pub fn last_record<'d>(disk: &'d mut Disk, report: &Report) -> Option<Damaged<'d>> {
        if !report.is_open || report.anchored < report.sequence {
            return None;
        }
        let is_last = |page: &u64| {
            let sector = disk.sector(Region::Log, page * PAGE / SECTOR);
            sector.starts_with(b"SWLG") && sector[8..16] == report.sequence.to_le_bytes()
        };
        let page = (0..report.log / PAGE).find(is_last)?;
        Some(Damaged { disk, page })
    }
}

impl Media for Damaged<'_> {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let read = self.disk.read(region, at, buf)?;
        if region == Region::Log && at == 0 {
            buf[(self.page * PAGE) as usize..][..SECTOR as usize].fill(0);
        }
        Ok(read)
    }

    fn settle(&mut self, region: Region) -> Result<(), Fault> {
        self.disk.settle(region)
    }
}
