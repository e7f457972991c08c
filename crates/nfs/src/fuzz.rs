//! Entry points for fuzzing: for any input no panic, no endless loop, nothing beyond the limits.
//!
//! Each function asserts the invariants: what was parsed can be written, and parses to the same
//! value again. Tests call them with random and with damaged bytes.

use crate::call::{Call, Procedure};
use crate::limits::{DATA_BYTES_MAX, RECORD_BYTES_MAX};
use crate::mount::{self, MountCall};
use crate::portmap::{self, Mapping};
use crate::record::{Joiner, MARK_BYTES, Mark};
use crate::reply::Reply;
use crate::rpc::{self, CallOutcome, Called};
use crate::xdr::{Reader, XdrError};

/// What can be parsed is written in a form that parses to the same value.
macro_rules! same {
    ($reader:ident, $read:expr, |$out:ident, $value:ident| $put:expr) => {
        if let Ok(found) = $read {
            let mut written = Vec::new();
            {
                let ($out, $value) = (&mut written, &found);
                $put;
            }
            let mut $reader = Reader::new(&written);
            assert_eq!($read, Ok(found));
        }
    };
}

/// Parses a client's stream as a server would. Returns the number of complete records.
///
/// # Panics
/// An invariant is violated.
pub fn calls(stream: &[u8]) -> usize {
    records(stream, |record| {
        let mut reader = Reader::new(record);
        let Ok(Called::Call(head)) = rpc::read_call(&mut reader) else { return };
        let mut again = Vec::new();
        rpc::put_call(&mut again, &head);
        assert_eq!(rpc::read_call(&mut Reader::new(&again)), Ok(Called::Call(head)));
        match head.program {
            mount::PROGRAM => same!(reader, MountCall::read(head.procedure, &mut reader), |out, call| {
                call.iter().for_each(|call| call.put(out));
            }),
            portmap::PROGRAM => same!(reader, Mapping::read(&mut reader), |out, mapping| mapping.put(out)),
            _ => {
                let procedure = Procedure::of(head.procedure % Procedure::ALL.len() as u32);
                let procedure = procedure.expect("numbers below their count are procedures");
                same!(reader, call_of(procedure, &mut reader), |out, call| call.put(out));
            }
        }
    })
}

fn call_of<'a>(procedure: Procedure, reader: &mut Reader<'a>) -> Result<Call<'a>, XdrError> {
    let call = Call::read(procedure, reader)?;
    assert_eq!(call.procedure(), procedure);
    assert!(!matches!(call, Call::Write { len, .. } if len > DATA_BYTES_MAX));
    Ok(call)
}

/// Parses a server's stream as a client would that had called `procedure`; numbers after those of
/// NFS stand for those of MOUNT. Returns the number of complete records.
///
/// # Panics
/// An invariant is violated.
pub fn replies(procedure: u8, stream: &[u8]) -> usize {
    records(stream, |record| {
        let mut reader = Reader::new(record);
        let Ok((xid, outcome)) = rpc::read_reply(&mut reader) else { return };
        let mut again = Vec::new();
        rpc::put_reply(&mut again, xid, outcome);
        assert_eq!(rpc::read_reply(&mut Reader::new(&again)), Ok((xid, outcome)));
        if outcome != CallOutcome::Success {
            return;
        }
        match Procedure::of(procedure.into()) {
            Some(procedure) => {
                same!(reader, Reply::read(procedure, &mut reader), |out, reply| reply.put(out));
            }
            None if procedure.is_multiple_of(3) => {
                same!(reader, mount::read_mounted(&mut reader), |out, mounted| mount::put_mounted(out, mounted));
            }
            None if procedure % 3 == 1 => {
                same!(reader, mount::read_exports(&mut reader), |out, exports| mount::put_exports(out, exports));
            }
            None => {
                let _ = portmap::read_port(&mut reader);
            }
        }
    })
}

fn records(stream: &[u8], mut each: impl FnMut(&[u8])) -> usize {
    let (mut input, mut joiner, mut count) = (stream, Joiner::new(), 0);
    loop {
        let before = input.len();
        match Mark::read(input) {
            // The path without copies: a record of one fragment, which is parsed before it is
            // complete.
            Ok(Some(mark)) if mark.last && !joiner.has_begun() => {
                let record = &input[MARK_BYTES as usize..];
                let here = record.len().min(mark.len as usize);
                each(&record[..here]);
                if here < mark.len as usize {
                    return count;
                }
                input = &record[here..];
                count += 1;
            }
            _ => match joiner.feed(&mut input) {
                Ok(Some(record)) => {
                    assert!(record.len() <= RECORD_BYTES_MAX as usize);
                    each(record);
                    joiner.clear();
                    count += 1;
                }
                Ok(None) | Err(_) => return count,
            },
        }
        assert!(input.len() < before, "a step takes bytes");
    }
}
