//! Arithmetic in a value: `(2*4k)`, `($ncpus+1)`, in parentheses as in fio's manual.
//!
//! Operators from lowest to highest precedence: `+ -`, `* / %`, `^` (right-associative), sign. A
//! number may have a unit, whose factor the caller provides. Like fio, this computes in floating
//! point, but the result must be a whole number.

/// Deeper nesting is refused, because every level uses stack.
const DEPTH_LIMIT: u32 = 64;

/// The whole number that `text` evaluates to; `factor` gives the factor of a unit.
///
/// # Errors
/// The rule that the text breaks.
pub fn whole(text: &str, factor: impl Fn(&str) -> Option<f64>) -> Result<u64, String> {
    let mut parser = Parser { rest: text, factor, depth: 0 };
    let value = parser.sum()?;
    parser.skip();
    if !parser.rest.is_empty() {
        return Err(format!("{:?} is left over after the arithmetic; put all of it in parentheses", parser.rest));
    }
    // Beyond 2^53, a float does not hold every whole number.
    if !(0.0..=9_007_199_254_740_992.0).contains(&value) {
        return Err(format!("comes to {value}, which is not within 0 and 2^53"));
    }
    if value.fract() != 0.0 {
        return Err(format!("comes to {value}, which is not a whole number"));
    }
    Ok(value as u64)
}

struct Parser<'t, F> {
    rest: &'t str,
    factor: F,
    depth: u32,
}

impl<F: Fn(&str) -> Option<f64>> Parser<'_, F> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product()?;
            left = if operator == '+' { left + right } else { left - right };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut left = self.power()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.power()?;
            if operator != '*' && right == 0.0 {
                return Err("divides by zero".into());
            }
            left = match operator {
                '*' => left * right,
                '/' => left / right,
                _ => left % right,
            };
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        match self.take(&['^']) {
            Some(_) => {
                self.deeper()?;
                let exponent = self.power()?;
                self.depth -= 1;
                Ok(base.powf(exponent))
            }
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<f64, String> {
        self.deeper()?;
        let value = match self.take(&['(', '-', '+']) {
            Some('(') => {
                let inner = self.sum()?;
                self.take(&[')']).ok_or("a parenthesis is not closed")?;
                inner
            }
            Some('-') => -self.atom()?,
            Some(_) => self.atom()?,
            None => self.number()?,
        };
        self.depth -= 1;
        // A unit may also follow a parenthesis: (1+1)k.
        Ok(value * self.unit()?)
    }

    fn number(&mut self) -> Result<f64, String> {
        self.skip();
        if let Some(hex) = self.rest.strip_prefix("0x") {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            self.rest = &hex[end..];
            return u64::from_str_radix(&hex[..end], 16).map(|n| n as f64).map_err(|_| "a number is missing".into());
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().map_err(|_| format!("a number is missing before {rest:?}"))
    }

    fn unit(&mut self) -> Result<f64, String> {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        if end == 0 {
            return Ok(1.0);
        }
        let (unit, rest) = self.rest.split_at(end);
        self.rest = rest;
        (self.factor)(unit).ok_or_else(|| format!("unknown unit {unit:?} in the arithmetic"))
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT { Err(format!("is nested more than {DEPTH_LIMIT} deep")) } else { Ok(()) }
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.skip();
        let next = self.rest.chars().next().filter(|c| wanted.contains(c))?;
        self.rest = &self.rest[1..];
        Some(next)
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, String> {
        whole(text, |unit| (unit == "k").then_some(1024.0))
    }

    #[test]
    fn operators_bind_as_in_school() {
        for (text, expected) in [
            ("(1+2*3)", 7),
            ("((1+2)*3)", 9),
            ("(10-2-3)", 5),
            ("(2^3^2)", 512),
            ("(10%4)", 2),
            ("(1k + 1)", 1025),
            ("( 10 / 4 * 2)", 5),
            ("(-1+2)", 1),
            ("(1+1)k", 2048),
            ("(0x10)", 16),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_refused() {
        for (text, why) in [
            ("(1", "not closed"),
            ("(1/0)", "zero"),
            ("(1%0)", "zero"),
            ("(1/3)", "not a whole number"),
            ("(1-2)", "not within"),
            ("(9^99)", "not within"),
            ("(1)x", "unknown unit"),
            ("()", "missing"),
            ("(1) 2", "left over"),
        ] {
            let message = value(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
        assert!(value(&"(".repeat(10_000)).unwrap_err().contains("deep"));
        assert!(value(&"-".repeat(10_000)).unwrap_err().contains("deep"));
        assert!(value(&format!("({})", ["2"; 1000].join("^"))).unwrap_err().contains("deep"));
    }
}
