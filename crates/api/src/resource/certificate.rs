//! `/api/security/certificates`: the certificates that the server uses.

use super::job::moment;
use super::{Resource, View};
use crate::record::{Field, Kind, key, known};
use admin::{CertificateSeen, uuid_text};
use block::ObjectId;
use ring::digest::{SHA256, digest};

/// The certificates, by their place in the list.
pub(crate) struct Certificates;

const FIELDS: &[Field<usize>] = &[
    key("uuid", |view, place| Some(uuid(&certificate(view, place)?).into())),
    key("name", |view, place| Some(certificate(view, place)?.file.into())),
    key("scope", |_, _| Some("cluster".into())).of(Kind::Word(&["cluster", "svm"])),
    known("type", |view, place| Some(certificate(view, place)?.purpose.word().replace('-', "_").into()))
        .of(Kind::Word(&["client", "server", "client_ca", "server_ca", "root_ca"])),
    known("common_name", |view, place| Some(certificate(view, place)?.common_name.into())),
    known("serial_number", |view, place| Some(certificate(view, place)?.serial.into())),
    known("ca", |view, place| Some(certificate(view, place)?.issuer.into())),
    known("expiry_time", |view, place| Some(moment(certificate(view, place)?.ends))).of(Kind::Moment),
];

fn certificate(view: &View<'_>, place: usize) -> Option<CertificateSeen> {
    view.at.world.certificates().into_iter().nth(place)
}

/// An identifier that is the same for the same certificate in the same file.
fn uuid(CertificateSeen { file, serial, issuer, common_name, .. }: &CertificateSeen) -> String {
    let sum = digest(&SHA256, [file, serial, issuer, common_name].map(String::as_str).join("\n").as_bytes());
    uuid_text(sum.as_ref().iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte)))
}

impl Resource for Certificates {
    type Item = usize;

    const NAME: &'static str = "certificate";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        "/api/security/certificates".into()
    }

    fn fields(&self) -> &'static [Field<usize>] {
        FIELDS
    }

    fn items(&self, view: &View<'_>) -> Vec<usize> {
        (0..view.at.world.certificates().len()).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<usize> {
        view.at.world.certificates().iter().position(|found| uuid(found) == key)
    }

    fn key(&self, view: &View<'_>, item: usize) -> String {
        certificate(view, item).map(|found| uuid(&found)).unwrap_or_default()
    }

    fn svm(&self, _: &View<'_>, _: usize) -> Option<ObjectId> {
        None
    }

    /// They are the cluster's, which only its own users see in ONTAP.
    fn is_seen(&self, view: &View<'_>, _: usize) -> bool {
        view.sees_all()
    }
}
