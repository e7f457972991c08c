//! Quality of service: policies, the objects they hang on, and the scheduler that keeps them.
//!
//! ```text
//!   administrator's words          numbers                       decisions
//!   Registry (names, rules,  ──►  Edit (ceilings, floors,  ──►  Scheduler inside Gate<T: Target>
//!   adaptive arithmetic)           groups by number)             enqueue · poll · complete
//! ```
//!
//! Pure: integer nanoseconds come in as arguments, decisions go out. The same code guards real volumes in the server
//! and simulated ones in virtual time.

pub mod account;
mod clock;
pub mod edit;
mod gate;
mod heap;
mod scheduler;
mod slab;
mod tuning;
mod wheel;

pub use account::{Bin, FloorState, GateStatus, GroupAccount, ObjectAccount, Passed, Shortage, Spans, Tally};
pub use edit::{Burst, Ceiling, Edit, EditError, Floor, GroupId, Limits};
pub use gate::Gate;
pub use tuning::Settings;
