//! A new plugin, ready to be built.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where this crate is, when the host was built from its sources: a plugin that is begun here finds it there.
fn dependency() -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    if Path::new(here).join("Cargo.toml").exists() {
        format!("{{ path = {here:?} }}")
    } else {
        format!("{:?}", env!("CARGO_PKG_VERSION"))
    }
}

/// Writes a new plugin crate to the folder `dir/name`: manifest, code of a complete base, readme. Returns the folder.
///
/// # Errors
/// The name is none, there is such a folder already, or it cannot be written.
pub fn scaffold(name: &str, dir: &Path) -> io::Result<PathBuf> {
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
    for (file, text) in [
        ("Cargo.toml", include_str!("scaffold/Cargo.toml.txt")),
        ("src/lib.rs", include_str!("scaffold/lib.rs.txt")),
        ("README.md", include_str!("scaffold/README.md.txt")),
        (".gitignore", "/target\n"),
    ] {
        let text = text
            .replace("{{name}}", name)
            .replace("{{library}}", &name.replace('-', "_"))
            .replace("{{dependency}}", &dependency());
        let path = folder.join(file);
        let written = match path.parent() {
            Some(parent) => std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text)),
            None => Ok(()),
        };
        written.map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(folder)
}
