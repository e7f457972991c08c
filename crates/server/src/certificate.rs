//! The names in a certificate. Access rules match those in a client's.
//!
//! TLS has verified that certificate before, so nothing is refused here. A name that is not
//! understood is left out, and no rule matches a client without a name.

use std::net::IpAddr;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::X509Name;

/// The names in a certificate in DER: `CN=` for the subject's common name; `DNS:`, `email:`, `URI:`
/// and `IP:` for the alternative ones.
pub(crate) fn names(certificate: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return names };
    for name in certificate.subject().iter_common_name() {
        add(&mut names, "CN=", name.as_slice());
    }
    if let Ok(Some(extension)) = certificate.subject_alternative_name() {
        for name in &extension.value.general_names {
            match name {
                GeneralName::RFC822Name(name) => add(&mut names, "email:", name.as_bytes()),
                GeneralName::DNSName(name) => add(&mut names, "DNS:", name.as_bytes()),
                GeneralName::URI(name) => add(&mut names, "URI:", name.as_bytes()),
                GeneralName::IPAddress(bytes) => {
                    names.extend(address(bytes).map(|address| format!("IP:{address}")));
                }
                _ => {}
            }
        }
    }
    names
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// The first common name of a subject or an issuer; empty if there is none.
pub(crate) fn common_name(name: &X509Name<'_>) -> String {
    name.iter_common_name().find_map(|name| plain(name.as_slice())).unwrap_or_default().to_owned()
}

fn add(names: &mut Vec<String>, kind: &str, value: &[u8]) {
    names.extend(plain(value).map(|text| format!("{kind}{text}")));
}

/// A name, unless it is not UTF-8 or has control characters: then it could be mistaken for another.
fn plain(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| !text.is_empty() && !text.contains(char::is_control))
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
