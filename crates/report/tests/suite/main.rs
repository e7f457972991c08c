//! All integration tests of the crate, one module for each subject, in one program so that they are
//! linked only once.

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
