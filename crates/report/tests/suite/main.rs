//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

#[path = "../../examples/sample/gallery.rs"]
mod gallery;
mod live;
#[path = "../../examples/sample/live_view.rs"]
mod live_view;
#[path = "../../examples/sample/noisy_neighbour.rs"]
mod noisy_neighbour;
mod page;
mod sections;
mod table;
mod workbook;
