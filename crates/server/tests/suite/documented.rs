//! `docs/serve.md` must have each limit with its name and value.

use server::ServerLimits;

const PAGE: &str = include_str!("../../../../docs/serve.md");

#[test]
fn every_limit_stands_there_with_its_value() {
    // Destructured completely, so that a new limit does not compile until it is added here.
    let ServerLimits {
        connections,
        connections_per_address,
        connection_in_flight,
        connection_requests,
        handshake_time,
        handshake_options,
        idle_time,
        drain_time,
        patience,
        memory,
        receive,
    } = ServerLimits::default();
    let limits = [
        ("connections", connections.to_string()),
        ("connections_per_address", connections_per_address.to_string()),
        ("connection_in_flight", connection_in_flight.to_string()),
        ("connection_requests", connection_requests.to_string()),
        ("handshake_time", format!("{} s", handshake_time.as_secs_f64())),
        ("handshake_options", handshake_options.to_string()),
        ("idle_time", format!("{} s", idle_time.as_secs_f64())),
        ("drain_time", format!("{} s", drain_time.as_secs_f64())),
        ("patience", format!("{} s", patience.as_secs_f64())),
        ("memory", memory.to_string()),
        ("receive", receive.to_string()),
    ];
    for (name, value) in limits {
        let row = format!("| `{name}` | {value} |");
        assert!(PAGE.contains(&row), "{row} is missing");
    }
}
