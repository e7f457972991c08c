//! `[server]`: its memory, how the data thread waits, and the bandwidth limits of connections.

use super::Size;
use crate::link_meter::LinkSettings;
use crate::portmap::Portmap;
use crate::starting::Latency;
use block::{Bytes, BytesPerSecond};
use qos::CreditLimit;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerTable {
    pub(super) latency: Latency,
    memory: Option<Size>,
    flow_limit: Option<ByteRate>,
    network: Option<ByteRate>,
    network_burst: Option<ByteRate>,
    network_credit: Option<Size>,
    pub(super) portmap: Option<Portmap>,
}

impl ServerTable {
    /// The memory that the server may use: as configured, or all that is available to it.
    pub(super) fn memory(&self) -> Result<Option<Bytes>, String> {
        let most = uring::memory::most();
        match (&self.memory, most) {
            (Some(Size(said)), Some(most)) if *said > most => Err(format!(
                "server.memory: must be at most the {} MiB that the machine has, or the control group, got {} MiB",
                most.0 >> 20,
                said.0 >> 20
            )),
            (Some(Size(said)), _) => Ok(Some(*said)),
            (None, most) => Ok(most),
        }
    }

    /// The bandwidth limits of each connection and of all together.
    pub(super) fn link(&self) -> Result<LinkSettings, String> {
        let rate = |rate: &Option<ByteRate>| rate.as_ref().map(|rate| rate.0);
        let bytes = |of: &Option<ByteRate>| rate(of).map(|rate| rate.0);
        let whole = match (bytes(&self.network), bytes(&self.network_burst), self.network_credit.as_ref()) {
            (None, None, None) => None,
            (None, _, _) => {
                return Err("server.network: give it with network_burst and network_credit: it is what \
                                        passes when the credit has ended"
                    .into());
            }
            (Some(base), None, None) => Some(CreditLimit { base, peak: base, credit: 0 }),
            (Some(base), Some(peak), Some(Size(credit))) if peak >= base => {
                Some(CreditLimit { base, peak, credit: credit.0 })
            }
            (Some(base), Some(peak), Some(_)) => {
                return Err(format!(
                    "server.network_burst: must be at least network = {base} bytes/s, got {peak} bytes/s"
                ));
            }
            (Some(_), Some(_), None) => {
                return Err(
                    "server.network_burst: give network_credit too: what may pass above network, as \"100GiB\"".into(),
                );
            }
            (Some(_), None, Some(_)) => {
                return Err("server.network_credit: give network_burst too: how fast it may be spent".into());
            }
        };
        Ok(LinkSettings { flow: rate(&self.flow_limit), whole })
    }
}

/// `"5Gb/s"`, `"150MB/s"`.
struct ByteRate(BytesPerSecond);

impl<'de> Deserialize<'de> for ByteRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByteRate, D::Error> {
        String::deserialize(deserializer)?.parse().map(ByteRate).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LinkSettings, String> {
        toml::from_str::<ServerTable>(text).map_err(|error| error.message().to_owned())?.link()
    }

    #[test]
    fn limits_are_rates_of_bits_or_bytes_and_burst_is_on_credit() {
        assert_eq!(read(""), Ok(LinkSettings::default()));
        let flow = LinkSettings { flow: Some(BytesPerSecond(625_000_000)), whole: None };
        assert_eq!(read("flow_limit = \"5Gb/s\""), Ok(flow));
        let whole = Some(CreditLimit { base: 150_000_000, peak: 1_250_000_000, credit: 100 << 30 });
        let all = "network = \"150MB/s\"\nnetwork_burst = \"10Gb/s\"\nnetwork_credit = \"100GiB\"";
        assert_eq!(read(all), Ok(LinkSettings { flow: None, whole }));
        let even = Some(CreditLimit { base: 1 << 30, peak: 1 << 30, credit: 0 });
        assert_eq!(read("network = \"1GiB/s\""), Ok(LinkSettings { flow: None, whole: even }));
        for (text, told) in [
            ("flow_limit = \"5\"", "\"5\": write 5Gb/s"),
            ("flow_limit = \"0MB/s\"", "write 5Gb/s"),
            ("flow_limit = \"99999999999999999999GB/s\"", "write 5Gb/s"),
            ("network_burst = \"1GB/s\"", "server.network: give it"),
            ("network = \"1GB/s\"\nnetwork_burst = \"2GB/s\"", "give network_credit too"),
            ("network = \"1GB/s\"\nnetwork_credit = \"2GiB\"", "give network_burst too"),
            (
                "network = \"2GB/s\"\nnetwork_burst = \"1GB/s\"\nnetwork_credit = \"1GiB\"",
                "must be at least network = 2000000000 bytes/s, got 1000000000",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(told) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
