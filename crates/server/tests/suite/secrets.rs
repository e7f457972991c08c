//! Files with secrets that others can read are refused, both at the start and at a renewal.

use rcgen::{CertificateParams, KeyPair};
use server::{Tls, TlsFiles, TlsSource};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn with_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refused(source: impl Into<TlsSource>) -> String {
    let said = Tls::load(source).expect_err("it is refused").to_string();
    assert!(!said.contains('\n') && !said.contains("a1a1"), "{said}");
    said
}

#[cfg(feature = "psk")]
#[test]
fn keys_that_others_can_read_are_refused() {
    use std::os::unix::fs::MetadataExt as _;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.psk");
    std::fs::write(&file, format!("alice:{}\n", "a1".repeat(32))).unwrap();
    with_mode(&file, 0o644);
    let source = TlsSource::Keys(file.clone());
    let rule = "pre-shared keys: everybody can read or change it (mode 0644), so it is no secret; chmod 600 it";
    let said = refused(source.clone());
    assert!(said.starts_with(&format!("{}: {rule}", file.display())), "{said}");
    with_mode(&file, 0o600);
    let tls = Tls::load(source.clone()).unwrap();
    // The previous one stays in force.
    with_mode(&file, 0o604);
    assert!(tls.renew().unwrap_err().to_string().contains("(mode 0604)"));
    // A group may read root's file, but no other's.
    with_mode(&file, 0o640);
    match std::fs::metadata(&file).unwrap().uid() {
        0 => assert!(Tls::load(source).is_ok()),
        _ => assert!(refused(source).contains("its group can read or change it (mode 0640)")),
    }
}

#[test]
fn a_private_key_that_others_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap();
    let files = TlsFiles::in_folder(dir.path(), false);
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    // A certificate is public.
    with_mode(&files.certificate, 0o644);
    with_mode(&files.key, 0o644);
    let said = refused(files.clone());
    assert!(
        said.contains("server-key.pem: a private key in PEM: everybody can read or change it (mode 0644)"),
        "{said}"
    );
    with_mode(&files.key, 0o600);
    assert!(Tls::load(files).is_ok());
}
