//! The built program, seen from outside: run as a person runs it, and used by the standard clients
//! that people have.
//!
//! Each test works in a folder of its own, lets the system choose ports, waits for what a program
//! says and never for time, and ends what it started. One that needs a program which is not there
//! skips with its reason ([`requires`]).

mod advise;
mod arrays;
mod axe;
mod bad_disk;
mod bad_input;
mod beside;
mod calibrate;
mod ceiling;
mod check;
mod crowd;
mod demo;
mod devices;
mod dgen;
mod durability;
mod encrypted;
mod error_texts;
mod faults;
mod fio;
mod fio_checks;
mod fio_command;
mod fio_ends;
mod fio_figures;
mod fio_likeness;
mod fio_nbd;
mod fio_offsets;
mod fio_options;
mod fio_recording;
mod fio_safety;
mod full_disk;
mod ganesha;
mod hosts;
mod interrupt;
mod joined;
mod keeping;
mod kill;
mod kill_files;
mod levels;
mod libnbd;
mod logins;
mod loop_device;
mod loop_mount;
mod memory;
mod names;
mod nbd_client;
mod nbdfuse;
mod nbdkit;
mod nfs_client;
mod offline;
mod oltp;
mod orion;
mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod places;
mod plan;
mod prometheus;
#[cfg(feature = "psk")]
mod psk;
mod published;
mod qemu;
mod ramp;
mod ranread;
mod raw_client;
mod reader;
mod relay;
mod renderings;
mod requires;
mod rest;
mod results;
mod running;
mod safety_table;
mod scratch;
mod serve;
mod server;
mod shared_lun;
mod shell;
mod short_of_memory;
mod simulate;
mod statistics;
mod threads;
mod tiers;
mod tls;
mod unanswered;
mod walks;
