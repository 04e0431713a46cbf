//! A new plugin, ready to be built.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a plugin's manifest says of this crate: the version, and the path to a checkout of it where there is one. Whoever has
/// the plugin and no checkout takes the version.
fn dependency(checkout: Option<&Path>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match checkout {
        Some(folder) => format!("{{ version = {version:?}, path = {:?} }}", folder.join("corral-plugin-abi")),
        None => format!("{version:?}"),
    }
}

/// Writes a new plugin crate to the folder `dir/name`: manifest, code of a complete base, readme. Returns the folder.
/// It depends on the published version of this crate, or on the one in a `checkout`, as seen from that folder.
///
/// # Errors
/// The name cannot be a plugin's, there is such a folder already, or it cannot be written.
pub fn scaffold(name: &str, dir: &Path, checkout: Option<&Path>) -> io::Result<PathBuf> {
    let files = [
        ("Cargo.toml", include_str!("scaffold/Cargo.toml.txt")),
        ("src/lib.rs", include_str!("scaffold/lib.rs.txt")),
        ("README.md", include_str!("scaffold/README.md.txt")),
        (".gitignore", "/target\n"),
    ];
    write(name, dir, &files, &dependency(checkout))
}

/// As [`scaffold`], a plugin in C for WebAssembly: code of a complete base, Makefile, `corral_plugin.h`, readme.
///
/// # Errors
/// As [`scaffold`].
pub fn scaffold_wasm(name: &str, dir: &Path) -> io::Result<PathBuf> {
    let files = [
        ("base.c", include_str!("scaffold/wasm/base.c.txt")),
        ("Makefile", include_str!("scaffold/wasm/Makefile.txt")),
        ("corral_plugin.h", include_str!("../../include/corral_plugin.h")),
        ("README.md", include_str!("scaffold/wasm/README.md.txt")),
        (".gitignore", "*.wasm\n"),
    ];
    write(name, dir, &files, "")
}

fn write(name: &str, dir: &Path, files: &[(&str, &str)], dependency: &str) -> io::Result<PathBuf> {
    let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !letters
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
        || name.ends_with('-')
        || name.len() > 64
    {
        let why = "a plugin's name is made of small letters, digits and `-`, and begins with a letter";
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{why}: not {name:?}")));
    }
    let folder = dir.join(name);
    if folder.exists() {
        let why = format!("{} exists already", folder.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    for (file, text) in files {
        let text = text
            .replace("{{name}}", name)
            // The code is compiled as it is, too.
            .replace("\"my-base\"", &format!("{name:?}"))
            .replace("{{library}}", &name.replace('-', "_"))
            .replace("{{dependency}}", dependency);
        let path = folder.join(file);
        let written = match path.parent() {
            Some(parent) => std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text)),
            None => Ok(()),
        };
        written.map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(folder)
}
