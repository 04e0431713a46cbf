//! The program from outside, and what holds for the whole workspace.

mod browser;
mod citations;
mod cluster;
mod columns;
#[cfg(feature = "serve")]
mod crashes;
mod examples;
mod experiments;
mod interrupt;
mod launch;
mod log;
mod logged;
mod messages;
mod modules;
mod page;
mod plugins;
mod program;
mod published;
mod report;
mod results;
#[cfg(feature = "serve")]
mod serve;
mod start;
mod sure;
mod sweep;
mod tables;
mod width;
