//! `qos fairness`: which objects take turns with their neighbours even if no limit binds.

use super::commands;
use crate::value::ObjectName;

commands! {
    /// Everything that begins with `qos fairness`.
    FairnessCommand in Fairness

    /// Choose whose contents take turns
    "qos fairness modify" => Modify(FairnessModify) {
        /// Take turns, or each by what it asks for
        "enable" enable: bool,
        /// SVM whose volumes are meant; without it all SVMs among each other
        "vserver" vserver: Option<ObjectName>,
        /// Volume of the SVM whose contents are meant
        "volume" volume: Option<ObjectName>,
        /// Qtree of the volume whose contents are meant
        "qtree" qtree: Option<ObjectName>,
    }

    shows
    /// Display whose contents take turns
    "qos fairness show" => Show by { "vserver", "volume", "qtree" } {
        /// SVM
        "vserver",
        /// Volume
        "volume",
        /// Qtree
        "qtree",
        /// Who takes turns there
        "among",
        /// Whether they do
        "enabled": Truth,
    }
}
