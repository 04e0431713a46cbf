//! Bases in processes of their own: what no process survives, the host does. This program is the child as well, so
//! that its `main` is its own.

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod common;
#[cfg(unix)]
#[path = "fixtures/bases/draws.rs"]
mod draws;
#[cfg(unix)]
#[path = "isolation/tests.rs"]
mod tests;

#[cfg(unix)]
fn main() {
    corral_plugin_abi::host::isolated_main();
    if std::env::args().any(|a| a == "--list") {
        tests::ALL.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let wanted = std::env::args().nth(1).filter(|a| !a.starts_with('-')).unwrap_or_default();
    for (name, test) in tests::ALL {
        if name.contains(&wanted) {
            test();
            println!("test {name} ... ok");
        }
    }
}
