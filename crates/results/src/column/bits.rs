//! Bit strings; the first bit of a byte is its highest.

/// Writes bits.
#[derive(Default)]
pub(crate) struct Written {
    bytes: Vec<u8>,
    /// The bits of the last, incomplete byte, in the low positions.
    part: u8,
    bits: u32,
}

impl Written {
    /// Appends to these bytes.
    pub(crate) fn behind(bytes: Vec<u8>) -> Written {
        Written { bytes, ..Written::default() }
    }

    /// Appends the low `bits` bits of a number, up to 64, highest first.
    pub(crate) fn push(&mut self, number: u64, bits: u32) {
        let mut left = bits;
        while left > 0 {
            let fit = left.min(8 - self.bits);
            let piece = (number >> (left - fit)) as u8 & ((1u16 << fit) - 1) as u8;
            self.part = if fit == 8 { piece } else { self.part << fit | piece };
            self.bits += fit;
            left -= fit;
            if self.bits == 8 {
                self.bytes.push(self.part);
                (self.part, self.bits) = (0, 0);
            }
        }
    }

    /// The bytes; the last one is padded with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let missing = (8 - self.bits) % 8;
        self.push(0, missing);
        self.bytes
    }
}

/// Reads bits.
pub(crate) struct Bits<'b> {
    bytes: &'b [u8],
    /// Index of the next bit.
    at: usize,
}

impl<'b> Bits<'b> {
    /// A reader of these bytes.
    pub(crate) fn of(bytes: &'b [u8]) -> Bits<'b> {
        Bits { bytes, at: 0 }
    }

    /// Minimum number of bits in [`Bits::ahead_short`].
    pub(crate) const SHORT: u32 = 56;

    /// Reads a number of up to 64 bits; `None` if there are too few.
    #[inline(always)]
    pub(crate) fn take(&mut self, bits: u32) -> Option<u64> {
        if bits == 0 {
            return Some(0);
        }
        if bits <= Self::SHORT {
            let number = self.ahead_short() >> (u64::BITS - bits);
            self.skip(bits)?;
            return Some(number);
        }
        let number = self.ahead() >> (u128::BITS - bits);
        self.skip(bits)?;
        Some(number as u64)
    }

    /// Skips zeros up to the next one and returns how many; `None` if there is no one, or more than
    /// 64 zeros.
    pub(crate) fn take_zeros(&mut self) -> Option<u32> {
        let zeros = self.ahead().leading_zeros();
        if zeros > u64::BITS {
            return None;
        }
        self.skip(zeros)?;
        Some(zeros)
    }

    /// The next bits, at least 120, in the highest positions; zeros after the end.
    fn ahead(&self) -> u128 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let ahead = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            last
        });
        u128::from_be_bytes(ahead) << (self.at % 8)
    }

    /// The next bits, at least [`Bits::SHORT`], in the highest positions; zeros after the end.
    #[inline(always)]
    pub(crate) fn ahead_short(&self) -> u64 {
        let chunk = self.bytes.get(self.at / 8..).and_then(|rest| rest.first_chunk());
        match chunk {
            Some(chunk) => u64::from_be_bytes(*chunk) << (self.at % 8),
            None => (self.ahead() >> 64) as u64,
        }
    }

    /// Skips bits; `None` if there are too few.
    #[inline(always)]
    pub(crate) fn skip(&mut self, bits: u32) -> Option<()> {
        self.at += bits as usize;
        (self.at <= self.bytes.len() * 8).then_some(())
    }
}
