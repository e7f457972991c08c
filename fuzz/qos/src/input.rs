//! Random bytes read as numbers.

/// Bytes not read yet. What lies behind the end reads as zero.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of them.
    pub fn new(data: &'a [u8]) -> Input<'a> {
        Input(data)
    }

    /// Whether none is left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `n`, of 16 bits.
    pub fn below(&mut self, n: u64) -> u64 {
        let number = (u64::from(self.byte()) << 8) | u64::from(self.byte());
        (number * n) >> 16
    }

    /// Once in so many times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// From 1 to about 2^`bits`, every magnitude alike.
    pub fn magnitude(&mut self, bits: u64) -> u64 {
        let exponent = self.below(bits);
        (1 << exponent) + self.below(1 << exponent.min(16))
    }
}
