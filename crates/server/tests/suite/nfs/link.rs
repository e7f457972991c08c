//! The bandwidth limit of a connection applies to NFS reads and writes.

use super::*;
use block::BytesPerSecond;
use server::LinkSettings;
use uring::Clock;

/// Two MiB are written and read at 8 MiB per second: the last call is admitted when the earlier
/// ones are paid for.
#[test]
fn a_connection_has_its_limit() {
    const RATE: u64 = 8 << 20;
    const PIECE: u64 = 256 << 10;
    let link = LinkSettings { flow: Some(BytesPerSecond(RATE)), whole: None };
    let server = Server::start_behind(BACKENDS[0], limits(), Front { link, ..front(Access::default()) });
    let mut client = Client::connect(&server);
    let lun = client.lun();
    let clock = Clock::new();
    let began = clock.now();
    for at in (0..1 << 20).step_by(PIECE as usize) {
        client.write(lun, at, &vec![7; PIECE as usize], Stable::Unstable).unwrap();
        assert_eq!(client.read(lun, at, PIECE as u32), Ok((vec![7; PIECE as usize], false)));
    }
    let (took, least) = (clock.now().since(began).as_secs_f64(), ((2 << 20) - PIECE) as f64 / RATE as f64 - 0.01);
    assert!(took >= least, "{took} s, {least} s at least");
    drop(client);
    server.until_empty();
}
