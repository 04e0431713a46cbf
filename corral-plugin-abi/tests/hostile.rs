//! Hostile plugins, each in both homes, each with its verdict. Every row is played by a copy of this program, so that what
//! ends a process can be written down as well; with isolation, nothing does.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod common;
#[cfg(target_os = "linux")]
#[path = "hostile/rows.rs"]
mod rows;

#[cfg(target_os = "linux")]
fn main() {
    corral_plugin_abi::host::isolated_main();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // None of its tests is ignored: runners ask for those apart.
    let ignored = arguments.iter().any(|a| a == "--ignored");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        _ if ignored => {}
        ["--play", home, library] => rows::play(home, library.as_ref()),
        ["--list", ..] => println!("hostile: test"),
        _ => rows::all(),
    }
}
