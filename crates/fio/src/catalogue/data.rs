//! Options of what is written, how it is verified and how it is made durable.

use super::{Definition, Form, option};
use crate::options::Options;
use crate::value::{Rule, Value};
use workload::job::{Hash, Pattern};

pub(super) const OPTIONS: &[Definition] = &[
    option("zero_buffers", Form::Flag, "writes zeroes", |o, v| {
        o.data.zero = v.flag()?;
        Ok(())
    }),
    option("refill_buffers", Form::Flag, "fills the buffer again for each write", |o, v| {
        o.data.content.refill = v.flag()?;
        Ok(())
    }),
    option("scramble_buffers", Form::Bool, "changes a few bytes of a reused buffer", |o, v| {
        o.data.content.scramble = v.flag()?;
        Ok(())
    }),
    option("buffer_pattern", Form::Text("0xdeadbeef"), "bytes that are repeated in the data", |o, v| {
        o.data.pattern = Some(pattern(v)?);
        Ok(())
    }),
    option("buffer_compress_percentage", Form::Whole, "percentage of bytes that compression can save", |o, v| {
        o.data.content.compress_percent = Some(v.percent()?);
        Ok(())
    }),
    option("buffer_compress_chunk", Form::Size, "the unit that has this compressibility", |o, v| {
        o.data.content.compress_chunk = v.count(0)?;
        Ok(())
    }),
    option("dedupe_percentage", Form::Whole, "percentage of blocks that are copies of earlier ones", |o, v| {
        o.data.content.dedupe_percent = Some(v.percent()?);
        Ok(())
    }),
    option("dedupe_mode", Form::Text("repeat"), "copies of any earlier block, or of a working_set", |o, v| {
        o.data.dedupe_set = v.choice(&[("repeat", false), ("working_set", true)])?;
        Ok(())
    }),
    option(
        "dedupe_working_set_percentage",
        Form::Whole,
        "size of the working set, in percent of the job's size",
        |o, v| {
            o.data.dedupe_set_percent = v.percent()?;
            Ok(())
        },
    ),
    option("dedupe_global", Form::Bool, "all jobs copy the same working set", |o, v| {
        o.data.dedupe_global = v.flag()?;
        Ok(())
    }),
    option("verify", Form::Text("crc32c"), "how data read back is checked", verify),
    option("do_verify", Form::Bool, "reads back after writing", |o, v| {
        o.data.verify_not_now = !v.flag()?;
        Ok(())
    }),
    option("verify_pattern", Form::Text("0xff%o"), "the bytes that verify=pattern writes and checks", |o, v| {
        o.data.verify_pattern = Some(pattern(v)?);
        Ok(())
    }),
    option("verify_interval", Form::Size, "each piece of this size in a block has its own header", |o, v| {
        o.data.verify_interval = v.count(HEADER_BYTES_MIN)?;
        Ok(())
    }),
    option("verify_only", Form::Flag, "checks what an earlier run wrote, and writes nothing", |o, v| {
        o.data.verify_only = v.flag()?;
        Ok(())
    }),
    option("verify_fatal", Form::Bool, "the first mismatch ends the job", |o, v| {
        o.data.verify_fatal = v.flag()?;
        Ok(())
    }),
    option("verify_backlog", Form::Whole, "checks after every so many writes", |o, v| {
        o.data.verify_backlog = v.whole(0, u64::MAX)?;
        Ok(())
    }),
    option("verify_backlog_batch", Form::Whole, "how many of them are checked at a time; 0 means all", |o, v| {
        o.data.verify_backlog_batch = v.whole(0, u64::MAX)?;
        Ok(())
    }),
    option("verify_offset", Form::Text("512"), "offset of the header in its interval", |o, v| {
        o.data.verify_offset = match v.size()? {
            0 => 0,
            at => u32::try_from(at).ok().filter(|at| *at >= HEADER_BYTES).ok_or_else(|| {
                format!("must be 0, or at least {HEADER_BYTES}, the length of a header, and below 4 GiB")
            })?,
        };
        Ok(())
    }),
    option("trim_percentage", Form::Whole, "percentage of written blocks that are trimmed before checking", |o, v| {
        o.data.trims.percent = v.percent()?;
        Ok(())
    }),
    option("trim_verify_zero", Form::Bool, "checks that trimmed blocks read as zeroes", |o, v| {
        o.data.trims.expect_zeroes = v.flag()?;
        Ok(())
    }),
    option("trim_backlog", Form::Whole, "trims after every so many writes", |o, v| {
        o.data.trims.backlog = v.whole(0, u64::MAX)?;
        Ok(())
    }),
    option("trim_backlog_batch", Form::Whole, "how many are trimmed at once", |o, v| {
        if v.whole(0, u64::MAX)? > 0 {
            o.note("trim_backlog_batch has no effect: what is to be trimmed of a backlog is trimmed at once");
        }
        Ok(())
    }),
    option("verify_async", Form::Whole, "threads that check", |o, v| {
        if v.count(0)? > 0 {
            o.note("verify_async has no effect: the thread that reads a block checks it");
        }
        Ok(())
    }),
    option("verify_dump", Form::Bool, "dumps both blocks of a mismatch beside the file", |o, v| {
        o.data.verify_dump = v.flag()?;
        Ok(())
    }),
    option("verify_state_save", Form::Bool, "leaves a file with the number of writes made", |o, v| {
        o.data.state_save = v.flag()?;
        Ok(())
    }),
    option("verify_state_load", Form::Bool, "verify_only expects only the writes that this file counts", |o, v| {
        o.data.state_load = v.flag()?;
        Ok(())
    }),
    option("serialize_overlap", Form::Bool, "requests in flight do not touch the same block", |o, v| {
        if v.flag()? {
            o.note("serialize_overlap has no effect: a verified job never has two requests on one block in flight");
        }
        Ok(())
    }),
    option("fsync", Form::Whole, "fsync after every so many writes", |o, v| {
        o.data.flushes.fsync_every = v.count(0)?;
        Ok(())
    }),
    option("fdatasync", Form::Whole, "fdatasync after every so many writes", |o, v| {
        o.data.flushes.fdatasync_every = v.count(0)?;
        Ok(())
    }),
    option("end_fsync", Form::Bool, "fsync when the writes are done", |o, v| {
        o.data.flushes.at_end = v.flag()?;
        Ok(())
    }),
    option("fsync_on_close", Form::Bool, "fsync when a file is closed", |o, v| {
        o.data.flushes.on_close = v.flag()?;
        Ok(())
    }),
    option("continue_on_error", Form::Text("io"), "kinds of requests whose EIO does not end the job", |o, v| {
        let words = [
            ("none", (false, false, false)),
            ("0", (false, false, false)),
            ("read", (true, false, false)),
            ("write", (false, true, false)),
            ("io", (true, true, false)),
            ("verify", (false, false, true)),
            ("all", (true, true, true)),
            ("1", (true, true, true)),
            ("", (true, true, true)),
        ];
        let (read, write, verify) = v.choice(&words)?;
        let forgive = &mut o.data.forgive;
        (forgive.read, forgive.write, forgive.verify) = (read, write, verify);
        Ok(())
    }),
    option(
        "ignore_error",
        Form::Text("EIO:ENOSPC"),
        "error numbers that do not end the job: reads,writes,checks",
        ignored,
    ),
    option("error_dump", Form::Bool, "reports failures that did not end the job; here always", |o, v| {
        if !v.flag()? {
            o.note("error_dump=0 has no effect: failures are reported by kind");
        }
        Ok(())
    }),
];

/// The smallest interval between verification headers. fio's own minimum is 80 bytes; this is the
/// next power of two.
const HEADER_BYTES_MIN: u32 = 128;

/// Length of a header, as the engine defines it. A header at another offset must not overlap its
/// original place.
const HEADER_BYTES: u32 = 48;

/// Error numbers of storage failures, by name.
const ERRORS: [(&str, i32); 12] = [
    ("EPERM", 1),
    ("EIO", 5),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("ETIME", 62),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
];

/// `READ,WRITE,VERIFY`: lists of names or numbers separated by colons, as in fio.
fn ignored(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let lists: Vec<&str> = v.text().split(',').collect();
    if lists.len() > 3 {
        return Err("takes at most three lists: reads,writes,checks".into());
    }
    let number = |word: &str| -> Result<i32, Rule> {
        match word.parse() {
            Ok(number) => Ok(number),
            Err(_) => v.part(word).choice(&ERRORS),
        }
    };
    let list = |index: usize| -> Result<Vec<i32>, Rule> {
        let words = lists.get(index).copied().unwrap_or_default();
        words.split(':').map(str::trim).filter(|word| !word.is_empty()).map(number).collect()
    };
    let forgive = &mut o.data.forgive;
    (forgive.read_numbers, forgive.write_numbers, forgive.verify_numbers) = (list(0)?, list(1)?, list(2)?);
    Ok(())
}

fn verify(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    o.notes.retain(|note| !note.starts_with("verify="));
    let pattern = Pattern::default;
    let words = [
        ("0", None),
        ("none", None),
        ("crc32c", Some(Hash::Crc32c)),
        ("crc32c-intel", Some(Hash::Crc32c)),
        ("xxhash", Some(Hash::Xxhash64)),
        ("crc7", Some(Hash::Crc7)),
        ("crc16", Some(Hash::Crc16)),
        ("crc32", Some(Hash::Crc32)),
        ("crc64", Some(Hash::Crc64)),
        ("md5", Some(Hash::Md5)),
        ("sha1", Some(Hash::Sha1)),
        ("sha256", Some(Hash::Sha256)),
        ("sha512", Some(Hash::Sha512)),
        ("sha3-224", Some(Hash::Sha3L224)),
        ("sha3-256", Some(Hash::Sha3L256)),
        ("sha3-384", Some(Hash::Sha3L384)),
        ("sha3-512", Some(Hash::Sha3L512)),
        ("meta", Some(Hash::Header)),
        ("null", Some(Hash::Header)),
        ("pattern", Some(Hash::Pattern(pattern()))),
        ("pattern_hdr", Some(Hash::HeaderPattern(pattern()))),
    ];
    let numbered: Vec<(&str, usize)> = words.iter().enumerate().map(|(index, (word, _))| (*word, index)).collect();
    let (_, hash) = words[v.choice(&numbered)?].clone();
    let note =
        if matches!(hash, Some(Hash::Header)) { "the header of each block is checked, its data is not" } else { "" };
    if !note.is_empty() {
        o.note(format!("verify={}: {note}", v.text()));
    }
    o.data.verify = hash;
    Ok(())
}

/// The same limit as in fio.
const PATTERN_BYTES_MAX: usize = 512;

/// A pattern: a decimal or hexadecimal number, `"text"`, `%o` for the block's offset, or several of
/// these in a row.
fn pattern(v: Value<'_>) -> Result<Pattern, Rule> {
    let mut rest = v.text();
    let mut pattern = Pattern::default();
    while !rest.is_empty() {
        rest = if let Some(after) = rest.strip_prefix("%o") {
            pattern.offsets_at.push(pattern.bytes.len() as u32);
            pattern.bytes.extend([0; 8]);
            after
        } else if let Some(text) = rest.strip_prefix('"') {
            let (text, after) = text.split_once('"').ok_or("a text in a pattern ends with a quotation mark")?;
            pattern.bytes.extend(text.as_bytes());
            after
        } else if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            pattern.bytes.extend(hexadecimal(&hex[..end])?);
            &hex[end..]
        } else {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
            // Text that does not begin with a digit is not a number.
            pattern.bytes.extend(decimal(if end == 0 { rest } else { &rest[..end] })?);
            &rest[end..]
        };
        if pattern.bytes.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern has at most {PATTERN_BYTES_MAX} bytes").into());
        }
    }
    if pattern.bytes.is_empty() { Err("a pattern needs a byte at least, as in 0xff".into()) } else { Ok(pattern) }
}

/// The bytes of `deadbeef`, first digit first. With an odd number of digits, the first digit is a
/// byte of its own.
fn hexadecimal(digits: &str) -> Result<Vec<u8>, Rule> {
    if digits.is_empty() {
        return Err("a hexadecimal pattern needs digits after 0x".into());
    }
    let odd = digits.len() % 2;
    let (first, pairs) = digits.split_at(odd);
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    let first = first.bytes().map(digit);
    Ok(first.chain(pairs.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]))).collect())
}

/// The bytes of a number, least significant first, as a 32-bit machine holds it, without leading
/// zeroes.
fn decimal(digits: &str) -> Result<Vec<u8>, Rule> {
    let wrong = || format!("{digits:?} is no pattern; write 0xff, a number of up to 32 bits, \"text\" or %o");
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    let number = u32::try_from(number).or_else(|_| i32::try_from(number).map(|n| n as u32)).map_err(|_| wrong())?;
    let bytes = number.to_le_bytes();
    let used = 4 - bytes.iter().rev().take_while(|byte| **byte == 0).count();
    Ok(bytes[..used.max(1)].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    #[test]
    fn errors_by_name_and_number() {
        let mut options = Options::default();
        ignored(&mut options, Value::new("EIO:28,,EILSEQ", Dialect::default())).unwrap();
        let forgive = options.data.forgive;
        assert_eq!(
            (forgive.read_numbers, forgive.write_numbers, forgive.verify_numbers),
            (vec![5, 28], vec![], vec![84])
        );
        let wrong = ignored(&mut Options::default(), Value::new("EI0", Dialect::default())).unwrap_err();
        assert!(wrong.to_string().ends_with("did you mean EIO?"), "{wrong}");
    }

    #[test]
    fn patterns() {
        let read = |text| pattern(Value::new(text, Dialect::default()));
        let bytes = |bytes: &[u8]| Ok(Pattern { bytes: bytes.to_vec(), offsets_at: Vec::new() });
        assert_eq!(read("0xdeadbeef"), bytes(&[0xde, 0xad, 0xbe, 0xef]));
        assert_eq!(read("0xabc"), bytes(&[0x0a, 0xbc]));
        assert_eq!(read("255"), bytes(&[255]));
        assert_eq!(read("-1"), bytes(&[255; 4]));
        assert_eq!(read("\"abc\"0x00"), bytes(&[b'a', b'b', b'c', 0]));
        let with_offset = Pattern { bytes: [&[0xff][..], &[0; 8]].concat(), offsets_at: vec![1] };
        assert_eq!(read("0xff%o"), Ok(with_offset));
        assert!(read("255xyz").unwrap_err().to_string().starts_with("\"xyz\" is no pattern"));
        for wrong in ["", "0x", "abc", "\"abc", "99999999999", "1-", &"0xff".repeat(600)] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
