//! Columns of figures as bit strings, each in the encoding with the fewest bits.
//!
//! ```text
//!   column   2 bits   0: no row has a value     3: every row has 0     (nothing follows)
//!                     1: every row has one      2: some have; a bit a row follows
//!            1 bit    1: instead of each value its difference to the one before (the first to 0), with its sign in the
//!                     lowest bit
//!            7 bits   the code: below 64 its order, from 64 on 64 plus the bits of each number
//!            number   the least number: 6 bits for its length in bits minus one, then its bits
//!            number   a common divisor of all differences to the least, in the same format
//!            numbers  each minus the least, divided by that divisor, in the code
//!   code     Exp-Golomb (H. Golomb 1966, J. Teuhola 1978) of an order: let s be the number without its last `order` bits,
//!            plus one; then one zero less than s has bits, s, and the last bits. Or plain numbers of a fixed length.
//! ```
//! Figures of consecutive seconds vary by a fraction of their size. A code of the right order takes
//! about one bit more than that variation needs, with few extra bits for rare outliers.

mod bits;

pub(crate) use bits::{Bits, Written};

/// A column: a figure for each row, if known.
pub(crate) type Column = Vec<Option<u64>>;

/// From this code on numbers are plain, of `code - PLAIN` bits.
const PLAIN: u32 = 64;

/// Writes a column.
pub(crate) fn put(out: &mut Written, column: &[Option<u64>]) {
    let values: Vec<u64> = column.iter().copied().flatten().collect();
    match values.len() {
        0 => return out.push(0, 2),
        all if all == column.len() && values.iter().all(|value| *value == 0) => return out.push(3, 2),
        all if all == column.len() => out.push(1, 2),
        _ => {
            out.push(2, 2);
            column.iter().for_each(|value| out.push(u64::from(value.is_some()), 1));
        }
    }
    let steps =
        values.iter().scan(0u64, |before, value| Some(zigzag(value.wrapping_sub(std::mem::replace(before, *value)))));
    let [plain, steps] = [Numbers::of(&values), Numbers::of(&steps.collect::<Vec<_>>())];
    let (is_steps, numbers) = if steps.cost < plain.cost { (1, steps) } else { (0, plain) };
    out.push(is_steps, 1);
    numbers.put(out);
}

/// Reads a column of `rows` rows; `None` if the bits end early or are invalid.
pub(crate) fn get(from: &mut Bits<'_>, rows: usize) -> Option<Column> {
    let has: Vec<bool> = match from.take(2)? {
        0 => return Some(vec![None; rows]),
        1 => vec![true; rows],
        2 => (0..rows).map(|_| from.take(1).map(|bit| bit == 1)).collect::<Option<_>>()?,
        _ => return Some(vec![Some(0); rows]),
    };
    let (is_steps, code) = (from.take(1)? == 1, from.take(7)? as u32);
    let [least, part] = [take_sized(from)?, take_sized(from)?];
    let mut before = 0u64;
    let whole = |rest: u64| {
        let number = least.wrapping_add(rest.wrapping_mul(part));
        before = if is_steps { before.wrapping_add(unzigzag(number)) } else { number };
        before
    };
    // The code is decided once and not for each number: a page reads some hundred million.
    match code.checked_sub(PLAIN) {
        None => numbers(from, &has, |from| take(from, code), whole),
        Some(bits) => numbers(from, &has, |from| from.take(bits), whole),
    }
}

/// Reads the numbers of the rows that have one.
#[inline(always)]
fn numbers<'b>(
    from: &mut Bits<'b>,
    has: &[bool],
    rest: impl Fn(&mut Bits<'b>) -> Option<u64>,
    mut whole: impl FnMut(u64) -> u64,
) -> Option<Column> {
    let mut column = Column::with_capacity(has.len());
    for has in has {
        column.push(if *has { Some(whole(rest(from)?)) } else { None });
    }
    Some(column)
}

/// Numbers, and the code that needs the fewest bits.
struct Numbers {
    least: u64,
    /// Common divisor of all differences to the least.
    part: u64,
    /// For each number the difference to the least, divided by `part`.
    rest: Vec<u64>,
    code: u32,
    /// Size in bits.
    cost: u64,
}

impl Numbers {
    fn of(numbers: &[u64]) -> Numbers {
        let least = numbers.iter().copied().min().unwrap_or(0);
        let more = || numbers.iter().map(|number| number - least);
        let part = more().fold(0, greatest_common).max(1);
        let rest: Vec<u64> = more().map(|number| number / part).collect();
        let most = length(rest.iter().copied().max().unwrap_or(0));
        let golomb = |order: u32| (rest.iter().map(|number| u64::from(width(*number, order))).sum::<u64>(), order);
        let plain = (most < 64).then(|| (u64::from(most) * rest.len() as u64, PLAIN + most));
        // If the cost is equal, plain numbers win.
        let (cost, code) =
            plain.into_iter().chain((0..=most.min(63)).map(golomb)).min_by_key(|(cost, _)| *cost).unwrap_or_default();
        Numbers { cost: cost + u64::from(length(least) + length(part)), least, part, rest, code }
    }

    fn put(&self, out: &mut Written) {
        out.push(self.code.into(), 7);
        push_sized(out, self.least);
        push_sized(out, self.part);
        for number in &self.rest {
            if self.code < PLAIN { push(out, *number, self.code) } else { out.push(*number, self.code - PLAIN) }
        }
    }
}

/// The greatest common divisor; of zero and a number that number.
fn greatest_common(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn push_sized(out: &mut Written, number: u64) {
    let length = length(number).max(1);
    out.push(u64::from(length - 1), 6);
    out.push(number, length);
}

fn take_sized(from: &mut Bits<'_>) -> Option<u64> {
    let length = from.take(6)? as u32 + 1;
    from.take(length)
}

/// Number of significant bits; 0 for zero.
fn length(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Length of a number in the code of this order.
fn width(number: u64, order: u32) -> u32 {
    2 * bits_of_sum(number, order) - 1 + order
}

/// Number of bits of the sum in that code, up to 65: the number without its last `order` bits, plus
/// one.
fn bits_of_sum(number: u64, order: u32) -> u32 {
    u128::BITS - (u128::from(number) >> order).saturating_add(1).leading_zeros()
}

fn push(out: &mut Written, number: u64, order: u32) {
    let bits = bits_of_sum(number, order);
    out.push(0, bits - 1);
    // The highest bit of the sum is always set; the others, up to 64, fit a `u64`.
    let sum = (u128::from(number) >> order) + 1;
    out.push(1, 1);
    out.push(sum as u64, bits - 1);
    out.push(number, order);
}

#[inline(always)]
fn take(from: &mut Bits<'_>, order: u32) -> Option<u64> {
    // Nearly all codes are so short that a single look-ahead has all of it.
    if let Some((number, bits)) = short(from.ahead_short(), order) {
        from.skip(bits)?;
        return Some(number);
    }
    let bits = from.take_zeros()?;
    from.take(1)?;
    let sum = (1u128 << bits) | u128::from(from.take(bits)?);
    let number = ((sum - 1) << order) | u128::from(from.take(order)?);
    u64::try_from(number).ok()
}

/// Decodes a number whose code has at most [`Bits::SHORT`] bits, with its length; `None` if it is
/// longer.
#[inline(always)]
fn short(ahead: u64, order: u32) -> Option<(u64, u32)> {
    let zeros = ahead.leading_zeros();
    let bits = 2 * zeros + 1 + order;
    if bits > Bits::SHORT {
        return None;
    }
    // After the zeros the sum and the last bits follow as one number.
    let sum_and_rest = (ahead << zeros) >> (u64::BITS - (zeros + 1 + order));
    Some((sum_and_rest - (1 << order), bits))
}

/// Maps a signed difference to an unsigned number: 0, -1, 1, -2 … become 0, 1, 2, 3 …
pub(crate) fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

pub(crate) fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(column: &[Option<u64>]) -> Vec<u8> {
        let mut out = Written::default();
        put(&mut out, column);
        out.finish()
    }

    #[test]
    fn differences_keep_their_sign() {
        for (difference, number) in [(0i64, 0u64), (-1, 1), (1, 2), (-2, 3), (i64::MIN, u64::MAX)] {
            assert_eq!((zigzag(difference as u64), unzigzag(number)), (number, difference as u64));
        }
    }

    /// The largest number in order 0 has 64 leading zeros and the longest sum. 60 seconds that vary
    /// by 1000 take 10 bits each; if all are equal they take none.
    #[test]
    fn a_column_takes_as_many_bits_as_it_varies() {
        assert_eq!(get(&mut Bits::of(&packed(&[Some(0), Some(u64::MAX)])), 2), Some(vec![Some(0), Some(u64::MAX)]));
        let varied: Vec<Option<u64>> = (0..60).map(|second| Some(250_000 + second * second * 7919 % 1000)).collect();
        assert!((75..=90).contains(&packed(&varied).len()), "{}", packed(&varied).len());
        assert_eq!(packed(&[Some(4096); 60]).len(), 5, "36 bits: 2, 1, 7, 6 and 13, 6 and 1");
        assert_eq!(packed(&[Some(0); 60]).len(), 1);
        // Whole milliseconds from 0 to 9 take 4 bits each, after a head of 46.
        let whole: Vec<Option<u64>> = (0..60).map(|second| Some(second * second * 7 % 10 * 1_000_000)).collect();
        assert!(packed(&whole).len() <= 36, "{}", packed(&whole).len());
        // Bucket numbers, most of which are consecutive.
        let buckets: Vec<Option<u64>> = (0..60).map(|bucket| Some(500 + bucket + bucket / 7)).collect();
        assert!(packed(&buckets).len() < 25, "{}", packed(&buckets).len());
    }

    proptest! {
        #[test]
        fn columns_come_back_as_they_were(column in prop::collection::vec(
            prop_oneof![Just(None), any::<u64>().prop_map(Some), (0..300u64).prop_map(Some)], 0..70)) {
            prop_assert_eq!(get(&mut Bits::of(&packed(&column)), column.len()), Some(column));
        }

        /// Reading arbitrary bytes, as from a damaged file, never panics.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), rows in 0..100usize) {
            let mut bits = Bits::of(&bytes);
            while get(&mut bits, rows).is_some() {}
        }
    }
}
