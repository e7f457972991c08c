//! Figures of many objects in few bytes. For each object: the difference of its number to the one
//! before, a mask of its figures that are not 0, and those figures, in 7 bits a byte. An index has
//! the positions of some objects, so that one can be found without reading all.

use crate::Figures;
use block::ObjectId;

/// Number of objects between entries of the index.
const NOTE_EVERY: usize = 64;

/// Figures by object, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    /// The index: an object's number, and the position in `bytes` after that number.
    notes: Box<[(u32, u32)]>,
}

impl Packed {
    /// Packs objects, which are in ascending order.
    pub fn new(objects: impl Iterator<Item = (ObjectId, Figures)>) -> Packed {
        let (mut bytes, mut notes, mut last) = (Vec::new(), Vec::new(), 0);
        for (index, (object, figures)) in objects.enumerate() {
            put(&mut bytes, u64::from(object.0 - last));
            last = object.0;
            if index % NOTE_EVERY == 0 {
                notes.push((last, bytes.len() as u32));
            }
            let values = figures.values();
            let mask = values.iter().enumerate().fold(0, |mask, (bit, value)| mask | u64::from(*value > 0) << bit);
            put(&mut bytes, mask);
            values.iter().filter(|value| **value > 0).for_each(|value| put(&mut bytes, *value));
        }
        Packed { bytes: bytes.into(), notes: notes.into() }
    }

    /// Its memory beside the struct itself.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.notes)
    }

    /// All objects with their figures.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, Figures)> + '_ {
        let (mut rest, mut last) = (&*self.bytes, 0);
        std::iter::from_fn(move || {
            last += take(&mut rest)? as u32;
            Some((ObjectId(last), figures(&mut rest)?))
        })
    }

    /// The figures of one object.
    pub fn get(&self, object: ObjectId) -> Option<Figures> {
        let before = self.notes.partition_point(|(number, _)| *number <= object.0).checked_sub(1)?;
        let (mut number, place) = self.notes[before];
        let mut rest = &self.bytes[place as usize..];
        loop {
            let found = figures(&mut rest)?;
            if number == object.0 {
                return Some(found);
            }
            number += take(&mut rest)? as u32;
            if number > object.0 {
                return None;
            }
        }
    }
}

fn figures(rest: &mut &[u8]) -> Option<Figures> {
    let mask = take(rest)?;
    let mut values = Figures::default().values();
    for (bit, value) in values.iter_mut().enumerate() {
        if mask >> bit & 1 == 1 {
            *value = take(rest)?;
        }
    }
    Some(Figures::of(values))
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (index, byte) in rest.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *rest = &rest[index + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Any numbers and figures survive packing, each object is found, and no others are.
        #[test]
        fn what_is_packed_comes_back(
            objects in prop::collection::btree_map(0u32..2000, prop::collection::vec(any::<u64>().prop_map(|x| x >> (x & 63)), 15), 0..200),
            others in prop::collection::vec(0u32..2100, 20),
        ) {
            let objects: BTreeMap<ObjectId, Figures> =
                objects.into_iter().map(|(id, values)| (ObjectId(id), Figures::of(values.try_into().unwrap()))).collect();
            let packed = Packed::new(objects.iter().map(|(id, figures)| (*id, *figures)));
            prop_assert_eq!(&packed.iter().collect::<BTreeMap<_, _>>(), &objects);
            for object in objects.keys().copied().chain(others.into_iter().map(ObjectId)) {
                prop_assert_eq!(packed.get(object), objects.get(&object).copied());
            }
        }
    }

    /// A difference of 1, a mask of 2 bytes, and seven figures of 2 to 4 bytes: about 24 bytes,
    /// where the plain numbers would be 124.
    #[test]
    fn an_object_with_reads_and_a_ceiling_takes_few_bytes() {
        let figures = Figures {
            read_ops: 700,
            write_ops: 300,
            read_bytes: 700 * 8192,
            write_bytes: 300 * 8192,
            completed: 1000,
            qos_max_us: 1_000_000,
            disk_us: 100_000,
            ..Figures::default()
        };
        let packed = Packed::new((1..=64).map(|id| (ObjectId(id), figures)));
        let each = packed.memory() / 64;
        assert!((20..=26).contains(&each), "{each}");
    }
}
