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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let says = |word: &str| arguments.iter().any(|a| a == word);
    // What runners ask: which tests there are, which of them are ignored (none), and one of them by its whole name.
    let all = if says("--ignored") { &[] } else { tests::ALL };
    if says("--list") {
        all.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let wanted = arguments.first().filter(|a| !a.starts_with('-')).map_or("", String::as_str);
    for (name, test) in all {
        if if says("--exact") { *name == wanted } else { name.contains(wanted) } {
            test();
            println!("test {name} ... ok");
        }
    }
}
