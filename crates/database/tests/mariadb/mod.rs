//! A MariaDB server for tests, unless none is installed.

use database::PrivateMariadb;
use tempfile::TempDir;

/// A small server.
pub fn server(password: Option<&str>) -> Option<(TempDir, PrivateMariadb)> {
    server_with(&[], password)
}

/// A small server with these further options. It does not sync, since no data has to survive a
/// power failure.
pub fn server_with(more: &[&str], password: Option<&str>) -> Option<(TempDir, PrivateMariadb)> {
    if PrivateMariadb::program().is_none() {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped here: MariaDB is not installed");
        println!("skipped: MariaDB is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=32M",
    ];
    let server = PrivateMariadb::start(folder.path(), &[&options, more].concat(), password).unwrap();
    Some((folder, server))
}
