//! The server's certificates by REST.

use super::*;
use admin::{CertificatePurpose, CertificateSeen};

/// The server's own, and an authority's of clients.
pub(super) fn used() -> Vec<CertificateSeen> {
    let of = |purpose, file: &str, serial: &str| CertificateSeen {
        purpose,
        file: file.into(),
        common_name: "storage.example".into(),
        serial: serial.into(),
        issuer: "ca.example".into(),
        begins: 1_795_314_659,
        ends: 1_826_850_659,
    };
    vec![
        of(CertificatePurpose::Server, "server-cert.pem", "4F4E4D7B"),
        of(CertificatePurpose::ClientAuthority, "ca-cert.pem", "01"),
    ]
}

/// Listed with all fields, picked by type and by the date of the end as ONTAP's clients do, and one
/// by its identifier. An administrator of one SVM sees none; nobody can change any.
#[test]
fn certificates_are_listed_and_picked() {
    let mut bench = Bench::new();
    let all = bench.get("/api/security/certificates?fields=*");
    assert_eq!(all["num_records"], 2);
    let own = &all["records"][0];
    assert_eq!(
        (&own["name"], &own["type"], &own["scope"]),
        (&json!("server-cert.pem"), &json!("server"), &json!("cluster"))
    );
    assert_eq!((&own["serial_number"], &own["ca"]), (&json!("4F4E4D7B"), &json!("ca.example")));
    assert_eq!((&own["common_name"], &own["expiry_time"]), (&json!("storage.example"), &json!("2027-11-22T02:30:59Z")));
    let authority = bench.get("/api/security/certificates?type=client_ca");
    assert_eq!((&authority["num_records"], &authority["records"][0]["name"]), (&json!(1), &json!("ca-cert.pem")));
    let soon = bench.get("/api/security/certificates?expiry_time=%3C2027-11-22T00:00:00Z");
    assert_eq!(soon["num_records"], 0);
    let uuid = own["uuid"].as_str().unwrap().to_owned();
    assert_ne!(own["uuid"], all["records"][1]["uuid"]);
    assert_eq!(bench.get(&format!("/api/security/certificates/{uuid}"))["serial_number"], "4F4E4D7B");
    assert_eq!(bench.ask("GET", "/api/security/certificates/0", "").status, 404);
    assert_eq!(bench.ask("DELETE", &format!("/api/security/certificates/{uuid}"), "").status, 405);
    bench.caller.role = Role::Svm("s".into());
    assert_eq!(bench.get("/api/security/certificates")["num_records"], 0);
}
