//! Encrypted exports, seen by the clients that people have: libnbd's tools and QEMU's, which use
//! GnuTLS.

use crate::encrypted::Encrypted;
use crate::requires::{client, requires};
use crate::running::{run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::LUN;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType};
use std::path::Path;

/// Makes a folder of certificates as libnbd, nbdkit and QEMU have it: an authority's, the server's,
/// and a client's with the common name `db1`; and a folder `NAME-anonymous` of a client without.
fn make_certificates(scratch: &Scratch, name: &str) {
    let folder = scratch.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, format!("authority {name}"));
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let anonymous = scratch.join(&format!("{name}-anonymous"));
    std::fs::create_dir_all(&anonymous).unwrap();
    for folder in [&folder, &anonymous] {
        std::fs::write(folder.join("ca-cert.pem"), authority.pem()).unwrap();
    }
    let sign = |role: &str, common_name: &str, usage| {
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.extended_key_usages.push(usage);
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        std::fs::write(folder.join(format!("{role}-cert.pem")), signed.pem()).unwrap();
        crate::scratch::secret(&folder.join(format!("{role}-key.pem")), &key.serialize_pem());
    };
    sign("server", "localhost", ExtendedKeyUsagePurpose::ServerAuth);
    sign("client", "db1", ExtendedKeyUsagePurpose::ClientAuth);
}

/// The URI of an export for a client with the certificates in that folder.
fn uri(server: &Encrypted, export: &str, certificates: &Path) -> String {
    server.uri("", export, &format!("tls-certificates={}", certificates.display()))
}

/// The exports that are listed to it.
fn listed(server: &Encrypted, certificates: &Path) -> Vec<String> {
    let ended = run(client("nbdinfo").args(["--list", "--json", &uri(server, "", certificates)]));
    let listed: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_default();
    let exports = listed["exports"].as_array().cloned().unwrap_or_default();
    exports.iter().filter_map(|export| export["export-name"].as_str().map(str::to_owned)).collect()
}

const REQUIRED: [&str; 9] =
    ["--pool", "pool", "--create", "--listen", "127.0.0.1:0", "--tls", "required", "--tls-certificates", "tls"];

/// nbdcopy writes and reads back over four encrypted connections; in clear text there is nothing to
/// be had.
#[test]
fn libnbd_copies_over_tls_and_not_without() {
    requires!("nbdinfo", "nbdcopy");
    let scratch = Scratch::new();
    make_certificates(&scratch, "tls");
    let server = Encrypted::start(&scratch, &REQUIRED);
    server.make_volume(&scratch);
    server.is_copied_by_libnbd(&scratch, &uri(&server, LUN, &scratch.join("tls")));
    assert_eq!(run(client("nbdinfo").args(["--list", &format!("nbd://localhost:{}", server.port)])).code, Some(1));
}

/// qemu-img writes an image over TLS and finds it there.
#[test]
fn qemu_img_converts_and_compares_over_tls() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    make_certificates(&scratch, "tls");
    let server = Encrypted::start(&scratch, &[&REQUIRED[..], &["--tls-verify-clients"]].concat());
    server.make_volume(&scratch);
    let credentials = format!("tls-creds-x509,id=tls,endpoint=client,dir={}", scratch.join("tls").display());
    server.is_converted_by_qemu(&scratch, &credentials);
}

/// A configuration with rules: the client with a certificate sees its LUN, one without sees
/// another, read only, and neither sees the other's.
#[test]
fn a_configuration_says_who_sees_what() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    make_certificates(&scratch, "tls");
    let text = r#"
        listen = ["127.0.0.1:0"]
        [pool]
        folder = "pool"
        create = true
        [tls]
        mode = "required"
        folder = "tls"
        client_certificates = "optional"
        [[access]]
        exports = ["svm01:/vol/vol1/lun1"]
        certificates = ["CN=db1"]
        [[access]]
        exports = ["svm01:/vol/vol1/public"]
        addresses = ["127.0.0.0/8", "::1"]
        read_only = true
        [log]
        level = "info"
        format = "json"
        [audit]
        file = "trail"
    "#;
    std::fs::write(scratch.join("server.toml"), text).unwrap();
    let checked = succeed(seawall(scratch.path()).args(["serve", "--config", "server.toml", "--check-config"]));
    assert_eq!(checked, "would listen on 127.0.0.1:0 (TLS required)\npool pool\nthe configuration is in order\n");
    assert!(!scratch.join("pool").exists(), "a check changes nothing");
    let server = Encrypted::start(&scratch, &["--config", "server.toml"]);
    server.make_volume(&scratch);
    server.make_lun(&scratch, "/vol/vol1/public");
    let (db1, anonymous) = (scratch.join("tls"), scratch.join("tls-anonymous"));
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(listed(&server, &db1)), ["svm01:/vol/vol1/lun1", "svm01:/vol/vol1/public"]);
    assert_eq!(listed(&server, &anonymous), ["svm01:/vol/vol1/public"]);
    let asked = |name: &str| run(client("nbdinfo").arg(uri(&server, name, &anonymous)));
    let (hidden, missing) = (asked("svm01:/vol/vol1/lun1"), asked("svm01:/vol/vol1/none"));
    assert_eq!((hidden.code, missing.code), (Some(1), Some(1)));
    assert_eq!(hidden.err.replace("lun1", "none"), missing.err, "there is no telling them apart");
    assert!(asked("svm01:/vol/vol1/public").out.contains("is_read_only: true"));
    let trail = std::fs::read_to_string(scratch.join("trail")).unwrap();
    assert_eq!(trail.lines().count(), 4, "{trail}");
    server.running.signal("TERM");
    let (status, lines) = server.running.end();
    assert!(status.success());
    let logged: Vec<serde_json::Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(logged.iter().any(|entry| entry["client"] == "127.0.0.1 (CN=db1)"), "{lines:?}");
}

/// After SIGHUP a new authority's certificates are in force, and a broken one is said and changes
/// nothing.
#[test]
fn hangup_renews_certificates() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    make_certificates(&scratch, "tls");
    make_certificates(&scratch, "next");
    let mut server = Encrypted::start(&scratch, &REQUIRED);
    server.make_volume(&scratch);
    let size = |server: &Encrypted, certificates: &str| {
        run(client("nbdinfo").args(["--size", &uri(server, LUN, &scratch.join(certificates))])).code
    };
    let copy = |file: &str| std::fs::copy(scratch.join("next").join(file), scratch.join("tls").join(file)).unwrap();
    assert_eq!(size(&server, "next"), Some(1));
    copy("server-cert.pem");
    server.running.signal("HUP");
    server.running.wait_for("the certificates in force stay");
    copy("server-key.pem");
    server.running.signal("HUP");
    server.running.wait_for("certificates are read again");
    assert_eq!(size(&server, "next"), Some(0));
}
