//! The compiled plugins that Python names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use corral_lab::run::Plugins;
use corral_plugin_abi::host::{Isolation, LoadPolicy, RunIn};
use pyo3::prelude::*;

use crate::errors::{Answer, Error, warn};
use crate::exit;

/// A folder of compiled plugins, as the program's `--plugins` takes it.
#[derive(Default)]
pub struct Shelf {
    pub folder: Option<PathBuf>,
    pub plugins: Plugins,
}

/// Python, told to load this module by its file and nothing else: the module's first line makes it the home of a plugin.
const SCRIPT: &str = "import sys, importlib.machinery as m, importlib.util as u
l = m.ExtensionFileLoader('_corral', sys.argv[1])
l.exec_module(u.module_from_spec(u.spec_from_file_location('_corral', sys.argv[1], loader=l)))";

impl Shelf {
    /// The plugins of a folder; nothing of them is run before a band or a spec names one. Files that are refused are
    /// warned of.
    pub fn open(py: Python<'_>, folder: Option<&Path>) -> Answer<Self> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        let named = folder.display();
        Error::unless(folder.is_dir(), format_args!("plugins: {named} is not a folder"))?;
        let program = py.import("sys")?.getattr("executable")?.extract::<Option<PathBuf>>()?;
        let module: OsString = py.import("corral._corral")?.getattr("__file__")?.extract()?;
        let arguments = ["-I", "-S", "-c", SCRIPT].map(OsString::from).into_iter().chain([module]).collect();
        let isolation = Isolation { program, arguments, ..Isolation::default() };
        let policy = LoadPolicy { run_in: RunIn::user_vouches(), isolation, ..LoadPolicy::default() };
        let mut plugins = Plugins::new(policy);
        exit::detach(py, || plugins.add_dir(folder));
        for why in plugins.refused() {
            warn(py, format!("plugin refused: {why}"))?;
        }
        Ok(Self { folder: Some(folder.to_owned()), plugins })
    }
}
