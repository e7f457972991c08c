//! Metadata contexts: the kinds of information in a block status.

use crate::values::{BASE_ALLOCATION, SEAWALL_SHARING};

/// A metadata context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `base:allocation`, which the protocol text defines: which bytes are allocated, and which
    /// read as zeroes.
    Allocation,
    /// `seawall:sharing`, our own: which bytes are shared with a clone or a snapshot. See
    /// [`crate::values::SHARING_SHARED`].
    Sharing,
}

impl Context {
    /// All known contexts, in the order of answers.
    pub const ALL: [Context; 2] = [Context::Allocation, Context::Sharing];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Context::Allocation => BASE_ALLOCATION,
            Context::Sharing => SEAWALL_SHARING,
        }
    }

    /// Whether a query asks for it by its name.
    pub(crate) fn is_named(self, query: &[u8]) -> bool {
        query == self.name().as_bytes()
    }

    /// Whether a query asks for its whole namespace: `base:`.
    pub(crate) fn is_of_namespace(self, query: &[u8]) -> bool {
        query.ends_with(b":") && self.name().as_bytes().starts_with(query)
    }

    /// The id that our server assigns to it on every connection.
    pub(crate) const fn id(self) -> u32 {
        match self {
            Context::Allocation => 1,
            Context::Sharing => 2,
        }
    }
}

/// The contexts selected for a connection, each with its id there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contexts([Option<u32>; 2]);

impl Contexts {
    /// None.
    pub const NONE: Contexts = Contexts([None; 2]);

    /// The id of a context, if it was selected.
    pub const fn id(self, context: Context) -> Option<u32> {
        self.0[context as usize]
    }

    /// Adds `context` with the id `id`.
    #[must_use]
    pub const fn with(mut self, context: Context, id: u32) -> Contexts {
        self.0[context as usize] = Some(id);
        self
    }

    /// The number of contexts.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == Contexts::NONE
    }

    /// Each context with its id.
    pub fn iter(self) -> impl Iterator<Item = (Context, u32)> {
        Context::ALL.into_iter().filter_map(move |context| Some((context, self.id(context)?)))
    }

    /// The contexts with these ids. `None` if there are none, or if one was not selected or occurs
    /// twice.
    pub(crate) fn only(self, ids: impl Iterator<Item = u32>) -> Option<Contexts> {
        let mut only = Contexts::NONE;
        for id in ids {
            let (context, _) = self.iter().find(|(_, known)| *known == id)?;
            if only.id(context).is_some() {
                return None;
            }
            only = only.with(context, id);
        }
        (!only.is_empty()).then_some(only)
    }
}
