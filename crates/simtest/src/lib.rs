//! simtest
