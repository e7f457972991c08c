//! Prices as text.

use report::text::thousands;

/// Most decimals of a price.
const DECIMALS: usize = 9;

/// A price with as many decimals as it has, so that what is printed adds up: `200,000`, `100.4`.
pub fn money(price: f64) -> String {
    let exact = |text: &String| text.parse::<f64>().is_ok_and(|read| (read - price).abs() <= 1e-9 * price.abs());
    let text = (0..DECIMALS).map(|decimals| format!("{price:.decimals$}")).find(exact);
    let text = text.unwrap_or_else(|| format!("{price:.DECIMALS$}"));
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", grouped(whole)),
        None => grouped(&text),
    }
}

/// Prices beyond 2^64 stay as they are.
fn grouped(whole: &str) -> String {
    whole.parse().map_or_else(|_| whole.to_string(), thousands)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 · 100.4 − 100.4 is not 100.4 to the last bit.
    #[test]
    fn a_price_keeps_its_decimals_and_gets_no_others() {
        let shown = [0.0, 0.3, 5.0, 100.4, 2.0 * 100.4, 3.0 * 0.1, 1_234_567.25, 200_000.0].map(money);
        assert_eq!(shown, ["0", "0.3", "5", "100.4", "200.8", "0.3", "1,234,567.25", "200,000"]);
        assert_eq!(money(1e-5), "0.00001");
    }
}
