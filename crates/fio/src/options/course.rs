//! When a job starts and ends, and where it runs.

use block::Span;
use workload::job::{Ending, Ends, Numa};

/// Clones, groups, start, end, processors.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseOptions {
    /// `numjobs`.
    pub numjobs: u32,
    /// `stonewall`.
    pub stonewall: bool,
    /// `new_group`.
    pub new_group: bool,
    /// `wait_for`.
    pub wait_for: Option<String>,
    /// `startdelay`: least and most.
    pub delay: (Span, Span),
    /// When it ends.
    pub ending: Ending,
    /// `steadystate`.
    pub steady: Option<Steady>,
    /// `steadystate_duration`.
    pub steady_duration: Span,
    /// `steadystate_ramp_time`.
    pub steady_ramp: Span,
    /// `cpus_allowed`.
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy=split`.
    pub cpus_split: bool,
    /// `numa_cpu_nodes` and `numa_mem_policy`.
    pub numa: Numa,
    /// `sqthread_poll`.
    pub kernel_polls: bool,
    /// `sqthread_poll_cpu`.
    pub kernel_polls_on: Option<u32>,
    /// `exitall`.
    pub exitall: bool,
    /// `exit_what`.
    pub exit_what: Ends,
    /// `nice`.
    pub nice: Option<i32>,
    /// `prio`.
    pub prio: Option<u16>,
    /// `prioclass`.
    pub prio_class: Option<u16>,
    /// `exec_prerun`.
    pub before: Option<String>,
    /// `exec_postrun`.
    pub after: Option<String>,
}

/// `steadystate`: the figure and how much it may vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Which figure.
    pub figure: workload::job::SteadyFigure,
    /// By which rule.
    pub check: workload::job::SteadyCheck,
}

impl Default for CourseOptions {
    fn default() -> CourseOptions {
        CourseOptions {
            numjobs: 1,
            stonewall: false,
            new_group: false,
            wait_for: None,
            delay: (Span::ZERO, Span::ZERO),
            ending: Ending { loops: 1, ..Ending::default() },
            steady: None,
            steady_duration: Span::ZERO,
            steady_ramp: Span::ZERO,
            cpus: Vec::new(),
            cpus_split: false,
            numa: Numa::default(),
            kernel_polls: false,
            kernel_polls_on: None,
            exitall: false,
            exit_what: Ends::Group,
            nice: None,
            prio: None,
            prio_class: None,
            before: None,
            after: None,
        }
    }
}
