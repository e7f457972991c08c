//! Configuration files: every setting is read, and errors are reported in one line.

use super::*;
use crate::access::{AccessRule, Network, Squash, Squashed};
use store::SecondPlace;

fn read(text: &str) -> Result<ServeConfig, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.toml");
    std::fs::write(&path, text).unwrap();
    let here = dir.path().display().to_string();
    ServeConfig::read(&path).map_err(|error| error.to_string().replace(&here, ""))
}

#[test]
fn everything_that_can_be_said_is_read() {
    let text = r#"
        listen = ["unix:/run/s.sock", "0.0.0.0:10809"]
        nfs = "127.0.0.1:2049"
        io_uring = false
        cpu = 1
        server.latency = "low"
        server.memory = "1GiB"
        server.flow_limit = "5Gb/s"
        server.portmap = "serve"
        server.network = "150MB/s"
        server.network_burst = "1250MB/s"
        server.network_credit = "100GiB"
        default_export = "/vol/v/l"
        [pool]
        folder = "/srv/pool"
        create = true
        [tls]
        mode = "required"
        certificate = "/t/cert.pem"
        key = "/t/key.pem"
        client_authorities = "/t/ca.pem"
        client_certificates = "optional"
        revocation_lists = "/t/crl.pem"
        [[access]]
        exports = ["svm01:*"]
        addresses = ["10.0.0.0/8", "unix"]
        certificates = ["CN=db1"]
        psk = ["backup"]
        read_only = true
        squash = "all"
        anonymous_uid = 99
        anonymous_gid = 98
        [limits]
        connections = 100
        connections_per_address = 10
        connection_in_flight = "8MiB"
        connection_requests = 64
        handshake_time = "5s"
        handshake_options = 32
        idle_time = "1h"
        drain_time = "30s"
        patience = "2500ms"
        memory = "256MiB"
        receive = "16KiB"
        [log]
        format = "json"
        level = "info"
        [audit]
        file = "/var/log/audit.jsonl"
        [statistics]
        memory = "64MiB"
        [rest]
        listen = "127.0.0.1:8443"
        certificate = "/t/rest.pem"
        key = "/t/rest.key"
    "#;
    let expected = ServeConfig {
        memory: Some(Bytes::gib(1)),
        cache: None,
        second_level: None,
        latency: Latency::Low,
        link: LinkSettings {
            flow: Some(block::BytesPerSecond(625_000_000)),
            whole: Some(qos::CreditLimit { base: 150_000_000, peak: 1_250_000_000, credit: 100 << 30 }),
        },
        pool: Some("/srv/pool".into()),
        create: true,
        no_io_uring: true,
        cpu: Some(1),
        listen: vec![Listen::Unix("/run/s.sock".into()), Listen::Tcp("0.0.0.0:10809".into())],
        nfs: Some(Listen::Tcp("127.0.0.1:2049".into())),
        portmap: Some(Portmap::Serve),
        tls_mode: Some(TlsMode::Required),
        tls: Some(TlsSource::Certificates(TlsFiles {
            certificate: "/t/cert.pem".into(),
            key: "/t/key.pem".into(),
            client_authorities: Some("/t/ca.pem".into()),
            client_certificate_optional: true,
            revocation_lists: Some("/t/crl.pem".into()),
        })),
        access: Access::by_rules(vec![AccessRule {
            exports: vec!["svm01:*".into()],
            addresses: vec!["10.0.0.0/8".parse().unwrap(), Network::Unix],
            certificates: vec!["CN=db1".into()],
            keys: vec!["backup".into()],
            read_only: true,
            squash: Squash { whom: Squashed::Everybody, uid: 99, gid: 98 },
        }]),
        default_export: Some("/vol/v/l".into()),
        limits: ServerLimits {
            connections: 100,
            connections_per_address: 10,
            connection_in_flight: Bytes::mib(8),
            connection_requests: 64,
            handshake_time: Span::from_secs(5),
            handshake_options: 32,
            idle_time: Span::from_secs(3600),
            drain_time: Span::from_secs(30),
            patience: Span::from_millis(2500),
            memory: Bytes::mib(256),
            receive: Bytes::kib(16),
        },
        log: LogSettings { format: LogFormat::Json, level: Some(LogLevel::Info) },
        audit: Some("/var/log/audit.jsonl".into()),
        rest: RestConfig {
            listen: Some("127.0.0.1:8443".into()),
            certificate: Some("/t/rest.pem".into()),
            key: Some("/t/rest.key".into()),
        },
        statistics: HistorySettings { memory: Bytes::mib(64) },
    };
    assert_eq!(read(text).unwrap(), expected);
    assert_eq!(read("").unwrap(), ServeConfig::without_file().unwrap());
}

#[test]
fn how_the_thread_waits_is_one_of_three() {
    let latency = |text: &str| read(&format!("[server]\nlatency = \"{text}\"")).map(|config| config.latency);
    assert_eq!(read("").unwrap().latency, Latency::Auto);
    assert_eq!(
        ["auto", "normal", "low"].map(|text| latency(text).unwrap()),
        [Latency::Auto, Latency::Normal, Latency::Low]
    );
    let refused = latency("medium").unwrap_err().to_string();
    assert!(["auto", "normal", "low"].iter().all(|text| refused.contains(text)), "{refused}");
}

#[test]
fn paths_begin_at_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.toml");
    std::fs::write(&path, "[pool]\nfolder = \"pool\"\n[tls]\nfolder = \"tls\"\n").unwrap();
    let config = ServeConfig::read(&path).unwrap();
    assert_eq!(config.pool, Some(dir.path().join("pool")));
    std::fs::write(&path, "listen = [\"unix:../x.sock\", \"127.0.0.1:1\"]\n").unwrap();
    let listen = ServeConfig::read(&path).unwrap().listen;
    assert_eq!(listen, [Listen::Unix(dir.path().join("../x.sock")), Listen::Tcp("127.0.0.1:1".into())]);
    assert_eq!(config.tls, Some(TlsFiles::in_folder(&dir.path().join("tls"), false).into()));
    std::fs::write(&path, "[tls]\npsk = \"keys.psk\"\n").unwrap();
    assert_eq!(ServeConfig::read(&path).unwrap().tls, Some(TlsSource::Keys(dir.path().join("keys.psk"))));
}

/// Rules that require what clients are never asked for; the second of these can also be met in
/// another way.
#[test]
fn a_rule_that_nobody_meets_is_found() {
    let rules = "[[access]]\nexports = [\"*\"]\n[[access]]\nexports = [\"*\"]\ncertificates = [\"CN=a\"]\n";
    let and_keys = format!("{rules}psk = [\"a\"]\n");
    for (tls, of_one, of_both) in [
        ("", Some(2), Some(2)),
        ("[tls]\nmode = \"off\"", None, None),
        ("[tls]\nfolder = \"t\"", Some(2), Some(2)),
        ("[tls]\nfolder = \"t\"\nclient_certificates = \"optional\"", None, None),
        ("[tls]\npsk = \"k\"", Some(2), None),
    ] {
        let found = [rules, &and_keys].map(|rules| read(&format!("{rules}{tls}")).unwrap().rule_nobody_meets());
        assert_eq!(found, [of_one, of_both], "{tls}");
    }
}

#[test]
fn connections_are_as_many_as_the_memory_carries_unless_they_are_said() {
    let connections = |text: &str| read(&format!("[limits]\n{text}")).map(|config| config.limits.connections);
    // A quarter of it, for two buffers of 64 KiB each.
    assert_eq!(connections("memory = \"16MiB\""), Ok(32));
    assert_eq!(connections("memory = \"16MiB\"\nreceive = \"16KiB\""), Ok(128));
    assert_eq!(connections("memory = \"16MiB\"\nconnections = 40"), Ok(40));
    assert!(connections("memory = \"16MiB\"\nconnections = 65").unwrap_err().contains("set at most 64"));
    assert!(connections("receive = \"0KiB\"").unwrap_err().contains("limits.receive"));
}

#[test]
fn what_is_wrong_is_named_in_one_line() {
    for (text, words) in [
        ("lisen = []", &["server.toml", "line 1", "lisen", "listen"][..]),
        ("\n[limits]\nidle_time = \"soon\"", &["line 3", "soon", "10s"]),
        ("[limits]\nmemory = \"much\"", &["line 2", "much"]),
        ("[limits]\nconnections = 0", &["limits.connections", "at least 1"]),
        ("[limits]\nreceive = \"2MiB\"", &["limits.receive", "1 MiB", "2 MiB"]),
        ("[limits]\nconnections = 10000", &["limits.connections: 10000", "64 KiB", "512 MiB", "at most 2048"]),
        ("listen = [\"here\"]", &["listen", "here", "HOST:PORT"]),
        ("[tls]\nmode = \"on\"", &["line 2", "on", "required"]),
        ("[tls]\nmode = \"required\"", &["tls", "certificate", "folder"]),
        ("[tls]\nkey = \"k\"", &["tls.key", "tls.certificate"]),
        ("[tls]\nfolder = \"t\"\npsk = \"k\"", &["tls.psk", "certificates"]),
        ("[tls]\nfolder = \"t\"\nrevocation_lists = \"l\"", &["tls.revocation_lists", "tls.client_certificates"]),
        ("[tls]\ncertificate = \"c\"\nkey = \"k\"\nclient_certificates = \"required\"", &["tls.client_authorities"]),
        ("[[access]]\nexports = []", &["access: rule 1", "exports"]),
        ("[[access]]\nexports = [\"*\"]\naddresses = [\"10.1.2.3/8\"]", &["rule 1", "10.1.2.3/8", "10.1.0.0/16"]),
        ("[[access]]\naddresses = []", &["exports"]),
        ("[log]\nformat = \"xml\"", &["line 2: log.format: must be one of text, json, got \"xml\""]),
        ("listen = \"a\"", &["line 1: listen: must be a list in brackets, got \"a\""]),
        ("[limits]\n\nconnections = \"9\"", &["line 3: limits.connections: must be a whole number", "got \"9\""]),
        ("[[access]]\nexports = [\"*\"]\nread_only = 1", &["access.read_only: must be true or false, got 1"]),
        (
            "[[access]]\nexports = [\"*\"]\nsquash = \"no\"",
            &["access.squash: must be one of none, root, all, got \"no\""],
        ),
        ("[[access]]\nexports = [\"*\"]\nanonymous_uid = 0", &["rule 1: anonymous_uid: must be at least 1", "squash"]),
        ("[[access]]\nexports = [\"*\"]\nanonymous_gid = -1", &["access.anonymous_gid: must be a whole number"]),
        (
            "[limits]\nconnections = 99999999999",
            &["line 2: limits.connections: must be a whole number from 0 to 4294967295"],
        ),
        ("\n[cache]\npage = \"8KiB\"", &["line 3: cache.page: is a page of cache.memory; give that too"]),
        ("[tls]\nfolder = \"t\"\nclient_authorities = \"ca\"", &["line 3: tls.client_authorities: give tls.client_c"]),
        ("[rest]\ncertificate = \"c\"", &["rest.certificate", "rest.key"]),
        ("[statistics]\nmemory = \"100KiB\"", &["statistics.memory", "at least 1 MiB", "102400"]),
        ("[rest]\nlisten = \"8443\"", &["rest.listen: \"8443\"", "HOST:PORT"]),
        ("[pool]\nfoldr = 1", &["foldr: there is no such key; here it is one of folder, create"]),
        ("[pool]\nfolder = []", &["pool.folder: must be a text in quotes, got a list"]),
        ("[[access]]\n", &["line 1: exports: is missing"]),
        ("listen = []\nx = = 1", &["line 2: extra `=`"]),
    ] {
        let error = read(text).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{text:?}: {error}");
    }
}

/// Settings without the setting they refer to. The command line may provide that, so this is
/// checked afterwards.
#[test]
fn what_is_said_of_nothing_is_refused() {
    let lone = |text: &str| read(text).unwrap().check_unused_settings();
    for (text, words) in [
        ("server.portmap = \"serve\"", "server.portmap: is how NFS clients find the port; give nfs"),
        ("[rest]\ncertificate = \"c\"\nkey = \"k\"", "rest.certificate: is for REST; give rest.listen"),
        ("default_export = \"/vol/v\"", "default_export: \"/vol/v\" must be a LUN's or file's path"),
        ("default_export = \":/vol/v/l\"", "default_export: "),
        ("default_export = \"lun1\"", "default_export: "),
    ] {
        let told = lone(text).unwrap_err();
        assert!(told.starts_with(words), "{text}: {told}");
    }
    for text in [
        "nfs = \"127.0.0.1:2049\"\nserver.portmap = \"serve\"",
        "[rest]\nlisten = \"127.0.0.1:1\"\ncertificate = \"c\"\nkey = \"k\"",
        "default_export = \"/vol/v/q/l\"",
        "default_export = \"s:/vol/v/l\"",
    ] {
        assert_eq!(lone(text), Ok(()), "{text}");
    }
}

#[test]
fn a_cache_has_a_size_and_pages_that_fit() {
    let read = |text: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seawall.toml");
        std::fs::write(&path, text).unwrap();
        ServeConfig::read(&path).map(|config| config.cache).map_err(|error| error.to_string())
    };
    assert_eq!(read(""), Ok(None));
    let cache = read("[cache]\nmemory = \"64MiB\"\npage = \"16KiB\"").unwrap().unwrap();
    assert_eq!((cache.memory, cache.page), (Bytes::mib(64), 16 << 10));
    for (text, words) in [
        (
            "[cache]\nmemory = \"64KiB\"",
            "cache.memory: must be at least 1 MiB, got 65536 bytes; leave it out for no cache",
        ),
        ("[cache]\nmemory = \"1MiB\"\npage = \"5KiB\"", "cache.page: must be 4, 8, 16, 32 or 64 KiB, got 5120 bytes"),
        ("[cache]\nmemory = \"900TiB\"", "MiB: cache.memory 943718400, limits.memory "),
        ("[server]\nmemory = \"900TiB\"", "server.memory: must be at most the "),
        (
            "[server]\nmemory = \"1GiB\"\n[cache]\nmemory = \"704MiB\"",
            "server.memory: its parts need more than 1024 MiB: cache.memory 704, limits.memory 256, statistics.memory 64, \
             maps 1 at least; make one of them smaller, or server.memory larger",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_second_level_is_for_a_cache_and_has_a_size_and_a_bound() {
    let read = |text: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seawall.toml");
        std::fs::write(&path, format!("[cache]\n{text}")).unwrap();
        let read = ServeConfig::read(&path).map(|config| config.second_level).map_err(|error| error.to_string());
        read.map(|second| (second, dir.path().join("nvme")))
    };
    let (second, path) = read("memory = \"64MiB\"\nsecond_level = \"nvme\"\nsecond_level_size = \"1GiB\"").unwrap();
    // Enough to be written once in full a day, by default.
    assert_eq!(second, Some(SecondPlace { path, size: Bytes::gib(1), writes_per_day: Bytes::gib(1) }));
    let all = "second_level = \"/dev/nvme9\"\nsecond_level_size = \"8GiB\"\nsecond_level_writes_per_day = \"2GiB\"";
    let (second, _) = read(&format!("memory = \"64MiB\"\n{all}")).unwrap();
    let path = PathBuf::from("/dev/nvme9");
    assert_eq!(second, Some(SecondPlace { path, size: Bytes::gib(8), writes_per_day: Bytes::gib(2) }));
    for (text, words) in [
        (all, "cache.second_level: is for what cache.memory evicts; give that too"),
        (
            "memory = \"64MiB\"\nsecond_level = \"nvme\"",
            "cache.second_level: give cache.second_level_size, what it may",
        ),
        (
            "memory = \"64MiB\"\nsecond_level_size = \"1GiB\"",
            "cache.second_level_size: give cache.second_level, a file or device, too",
        ),
        (
            "memory = \"64MiB\"\nsecond_level = \"nvme\"\nsecond_level_size = \"1MiB\"",
            "cache.second_level_size: must be from 2097152 to 4398046511104 bytes with pages of 4096, got 1048576",
        ),
        (
            "memory = \"1MiB\"\nsecond_level = \"nvme\"\nsecond_level_size = \"3TiB\"\n[server]\nmemory = \"2GiB\"",
            "(less with larger pages), limits.memory ",
        ),
        (
            "memory = \"1MiB\"\nsecond_level = \"n\"\nsecond_level_size = \"1GiB\"\nsecond_level_writes_per_day = \"1MiB\"",
            "cache.second_level_writes_per_day: must be at least 67108864 bytes, got 1048576",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
}

/// Defaults follow from the whole memory, and the maps get the rest.
#[test]
fn memory_is_one_budget() {
    let budget = |text: &str| read(text).unwrap().budget();
    let small = budget("[server]\nmemory = \"512MiB\"");
    assert_eq!(
        (small.buffers, small.statistics, small.maps()),
        (Bytes::mib(128), Bytes::mib(32), Some(Bytes::mib(352)))
    );
    let said = budget("[server]\nmemory = \"1GiB\"\n[cache]\nmemory = \"500MiB\"\n[limits]\nmemory = \"300MiB\"");
    assert_eq!((said.cache, said.buffers, said.statistics), (Bytes::mib(500), Bytes::mib(300), Bytes::mib(64)));
    assert_eq!(said.maps(), Some(Bytes::mib(160)));
}
