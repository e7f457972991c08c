//! `qos fairness`: which objects take turns with their neighbours even if no limit binds.

use super::{AdminError, Answer, Errand, Obstacle};
use block::ObjectId;
use ontap::catalogue::{FairnessCommand, FairnessModify};
use ontap::show::FairnessRow;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn fairness(&mut self, command: FairnessCommand) -> Result<Answer, AdminError> {
        match command {
            FairnessCommand::Modify(modify) => self.modify_fairness(&modify),
            FairnessCommand::Show(selection) => {
                let among = "SVMs".to_owned();
                let all = FairnessRow { among, enabled: self.registry.fair(), ..FairnessRow::default() };
                let holders = self.registry.objects().filter(|object| !object.kind().is_leaf());
                self.listed([all].into_iter().chain(holders.map(|holder| self.fairness_row(holder))), &selection)
            }
        }
    }

    fn modify_fairness(&mut self, modify: &FairnessModify) -> Result<Answer, AdminError> {
        let object = self.holder(modify)?;
        let change = self.registry.set_fair(object, modify.enable)?;
        self.take(change);
        Ok(Answer::default())
    }

    /// The object whose contents take turns; the server if none is named.
    fn holder(&self, modify: &FairnessModify) -> Result<Option<ObjectId>, AdminError> {
        let Some(volume) = &modify.volume else {
            if modify.qtree.is_some() {
                let text = "a qtree is named by its volume too; say which with -volume";
                return Err(Obstacle::WhichVolume.told(text).into());
            }
            return modify.vserver.as_ref().map(|svm| self.svm(Some(svm))).transpose();
        };
        match &modify.qtree {
            Some(qtree) => self.known_qtree(modify.vserver.as_ref(), volume, qtree),
            None => self.known_volume(self.svm_of_volume(modify.vserver.as_ref(), volume.as_str())?, volume.as_str()),
        }
        .map(Some)
    }

    fn fairness_row(&self, holder: &Object) -> FairnessRow {
        let (volume, qtree) = self.place_of(holder.id());
        let among = match holder.kind() {
            ObjectKind::Svm => "volumes",
            ObjectKind::Volume => "qtrees, LUNs, files",
            _ => "LUNs, files",
        };
        FairnessRow {
            vserver: Some(self.svm_name(holder.id())),
            volume: Some(volume).filter(|name| !name.is_empty()),
            qtree,
            among: among.into(),
            enabled: holder.fair(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use block::Time;
    use qos::Edit;

    #[test]
    fn turns_are_switched_on_level_by_level_and_shown() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        for line in ["vserver create s", "volume create v -size 4MB", "volume qtree create q -volume v"] {
            let _ = run(line).unwrap();
        }
        let fair = |edits: &[Edit]| match *edits {
            [Edit::SetFair { object, fair }] => (object.map(|object| object.0), fair),
            ref other => panic!("{other:?}"),
        };
        // Numbers are given in the order of making, from 1 on.
        assert_eq!(fair(&run("qos fairness modify -enable true").unwrap().edits), (None, true));
        assert_eq!(fair(&run("qos fairness modify true -vserver s").unwrap().edits), (Some(1), true));
        assert_eq!(fair(&run("qos fairness modify true -volume v").unwrap().edits), (Some(2), true));
        assert_eq!(fair(&run("qos fairness modify true -volume v -qtree q").unwrap().edits), (Some(3), true));
        assert_eq!(fair(&run("qos fairness modify false -volume v").unwrap().edits), (Some(2), false));
        assert!(run("qos fairness modify false -volume v").unwrap().edits.is_empty(), "it is so already");
        let shown = run("qos fairness show").unwrap().answer.text();
        let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["-", "-", "-", "SVMs", "true"]), "{shown}");
        assert!(rows.contains(&vec!["s", "-", "-", "volumes", "true"]), "{shown}");
        assert!(rows.contains(&vec!["s", "v", "-", "qtrees,", "LUNs,", "files", "false"]), "{shown}");
        assert!(rows.contains(&vec!["s", "v", "q", "LUNs,", "files", "true"]), "{shown}");
        assert!(run("qos fairness modify true -qtree q").unwrap_err().contains("say which with -volume"));
    }
}
