//! The names in a client's certificate: what an access rule may ask for.
//!
//! Only certificates that TLS has verified come here, so this reads no more of X.509 than it needs and refuses nothing:
//! what it does not understand has no name. Still no byte is believed: every length is checked against what is there.
//!
//! ```text
//!   Certificate  { tbsCertificate { [0] version, serial, algorithm, issuer, validity, subject, key, [3] extensions }, … }
//!   subject      { { { OID 2.5.4.3, "name" } … } … }                               "CN=name"
//!   subjectAltName (OID 2.5.29.17)  [1] mail  [2] host  [6] URI  [7] address       "email:…" "DNS:…" "URI:…" "IP:…"
//! ```

use std::net::IpAddr;

/// Tags of DER (X.690) and of the fields of a certificate (RFC 5280, section 4.1).
mod tag {
    pub const INTEGER: u8 = 0x02;
    pub const OCTETS: u8 = 0x04;
    pub const OID: u8 = 0x06;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    pub const VERSION: u8 = 0xa0;
    pub const EXTENSIONS: u8 = 0xa3;
    pub const MAIL: u8 = 0x81;
    pub const HOST: u8 = 0x82;
    pub const URI: u8 = 0x86;
    pub const ADDRESS: u8 = 0x87;
}

/// 2.5.4.3, the common name.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17, the alternative names.
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// The names in a certificate in DER: `CN=` for the subject's common name; `DNS:`, `email:`, `URI:` and `IP:` for the
/// alternative ones.
pub(crate) fn names(certificate: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let _ = gather(certificate, &mut names);
    names
}

fn gather(certificate: &[u8], names: &mut Vec<String>) -> Option<()> {
    let body = Der(Der(certificate).take(tag::SEQUENCE)?).take(tag::SEQUENCE)?;
    let mut fields = Der(body);
    let _version = fields.take(tag::VERSION);
    fields.take(tag::INTEGER)?;
    fields.take(tag::SEQUENCE)?;
    let _issuer = fields.take(tag::SEQUENCE)?;
    let _validity = fields.take(tag::SEQUENCE)?;
    common_names(fields.take(tag::SEQUENCE)?, names);
    let _key = fields.take(tag::SEQUENCE)?;
    while let Some((found, value)) = fields.next() {
        if found == tag::EXTENSIONS {
            alternative_names(value, names)?;
        }
    }
    Some(())
}

fn common_names(subject: &[u8], names: &mut Vec<String>) {
    let mut sets = Der(subject);
    while let Some(set) = sets.take(tag::SET) {
        let mut attributes = Der(set);
        while let Some(attribute) = attributes.take(tag::SEQUENCE) {
            let mut attribute = Der(attribute);
            if let (Some(COMMON_NAME), Some((_, value))) = (attribute.take(tag::OID), attribute.next()) {
                add(names, "CN=", value);
            }
        }
    }
}

fn alternative_names(extensions: &[u8], names: &mut Vec<String>) -> Option<()> {
    let mut extensions = Der(Der(extensions).take(tag::SEQUENCE)?);
    while let Some(extension) = extensions.take(tag::SEQUENCE) {
        let mut extension = Der(extension);
        if extension.take(tag::OID) != Some(ALTERNATIVE_NAMES) {
            continue;
        }
        // `critical` may stand before the value.
        let value = std::iter::from_fn(|| extension.next()).find(|(found, _)| *found == tag::OCTETS)?.1;
        let mut general = Der(Der(value).take(tag::SEQUENCE)?);
        while let Some((found, value)) = general.next() {
            match found {
                tag::MAIL => add(names, "email:", value),
                tag::HOST => add(names, "DNS:", value),
                tag::URI => add(names, "URI:", value),
                tag::ADDRESS => names.extend(address(value).map(|address| format!("IP:{address}"))),
                _ => {}
            }
        }
    }
    Some(())
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// Text that is no UTF-8 or holds control characters is no name: it could look like another one.
fn add(names: &mut Vec<String>, kind: &str, value: &[u8]) {
    if let Ok(text) = std::str::from_utf8(value)
        && !text.is_empty()
        && !text.contains(char::is_control)
    {
        names.push(format!("{kind}{text}"));
    }
}

/// A row of DER elements.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next element: its tag and its contents.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&found, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut len = usize::from(first);
        if first & 0x80 != 0 {
            // The long form: so many bytes of length. Four are more than any certificate has.
            let (bytes, behind) = rest.split_at_checked(usize::from(first & 0x7f)).filter(|(n, _)| n.len() <= 4)?;
            len = bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            rest = behind;
        }
        let (value, behind) = rest.split_at_checked(len)?;
        self.0 = behind;
        Some((found, value))
    }

    /// The next element, which must have this tag; none is taken else.
    fn take(&mut self, wanted: u8) -> Option<&'a [u8]> {
        let before = self.0;
        match self.next() {
            Some((found, value)) if found == wanted => Some(value),
            _ => {
                self.0 = before;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    fn certificate() -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["db1.example".into(), "db1".into()]).unwrap();
        params.distinguished_name.push(DnType::OrganizationName, "Example");
        params.distinguished_name.push(DnType::CommonName, "database one");
        params.subject_alt_names.push(SanType::IpAddress("10.1.2.3".parse().unwrap()));
        params.subject_alt_names.push(SanType::Rfc822Name("dba@example".try_into().unwrap()));
        params.subject_alt_names.push(SanType::URI("spiffe://example/db1".try_into().unwrap()));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn all_names_of_a_certificate_are_found() {
        let mut found = names(&certificate());
        found.sort_unstable();
        let mut expected = vec![
            "CN=database one",
            "DNS:db1",
            "DNS:db1.example",
            "IP:10.1.2.3",
            "URI:spiffe://example/db1",
            "email:dba@example",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    /// Cut or changed anywhere, it is read without a panic, and never longer than it is.
    #[test]
    fn damaged_certificates_do_no_harm() {
        let whole = certificate();
        for cut in 0..whole.len() {
            let _ = names(&whole[..cut]);
            for change in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = whole.clone();
                damaged[cut] = change;
                let total: usize = names(&damaged).iter().map(String::len).sum();
                assert!(total < whole.len() * 4);
            }
        }
    }
}
