//! Quality of service: policies, the objects they apply to, and the scheduler that enforces them.
//!
//! ```text
//!   administrator's words          numbers                       decisions
//!   Registry (names, rules,  ──►  Edit (ceilings, floors,  ──►  Scheduler inside Gate<T: Target>
//!   adaptive arithmetic)           groups by number)             enqueue · poll · complete
//! ```
//!
//! Pure: time comes in as an argument, in integer nanoseconds, and decisions go out. The same code
//! guards real volumes in the server and simulated ones in virtual time.

pub mod account;
pub mod adaptive;
mod clock;
mod credit;
pub mod edit;
mod gate;
pub mod group;
mod heap;
pub mod object;
pub mod policy;
pub mod registry;
pub mod rule;
mod scheduler;
pub mod settings;
mod slab;
mod tuning;
mod wheel;

pub use account::{Bin, FloorState, GateStatus, GroupAccount, ObjectAccount, Passed, Shortage, Spans, Tally};
pub use adaptive::{Allocation, Density, Evaluation, Per, Size, SizeUnit, Units};
pub use credit::{CreditLimit, CreditMeter};
pub use edit::{Burst, Ceiling, Edit, EditError, Floor, GroupId, Limits};
pub use gate::{Gate, OWN};
pub use group::{BUILT_IN_GROUPS, Group, GroupClass, smallest_built_in};
pub use object::{Membership, Object, ObjectKind};
pub use policy::{AdaptivePolicy, BlockSize, BurstKnobs, CREDIT_DURATION, FixedPolicy, Policy, Rates};
pub use registry::{
    AdaptiveChange, BurstChange, Catalogue, Change, FixedChange, GroupRecord, InForce, Level, NewGroup, Note,
    ObjectRecord, PolicyChange, Registry, Touched, Undo,
};
pub use rule::{RateName, Refusal, RefusalKind, Rule};
#[doc(hidden)]
pub use scheduler::corrections::{Correction, Corrections};
pub use settings::{Beyond, DefaultBurst, Goal, Nesting, PeakMode, RegistrySettings};
pub use tuning::Settings;
