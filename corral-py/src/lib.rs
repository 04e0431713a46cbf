//! The Python package `corral`: everything here is called by Python, and documented there.
#![forbid(unsafe_code)]

mod args;
mod band;
mod base;
mod convert;
mod decision;
mod errors;
mod exit;
mod history;
mod inner;
mod label;
mod laws;
mod log;
mod plan;
mod runs;
mod shelf;
mod thread;
mod turn;
mod verify;
mod waiting;
mod world;

/// Bands of bandit algorithms under a master.
#[pyo3::pymodule]
mod _corral {
    use pyo3::prelude::*;
    use pyo3::types::IntoPyDict;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // An interpreter that was started as the home of a plugin never returns from here.
        corral_plugin_abi::host::isolated_main();
        let end = pyo3::wrap_pyfunction!(crate::exit::end, module)?;
        module.py().import("atexit")?.call_method1("register", (end,))?;
        let forked = pyo3::wrap_pyfunction!(crate::turn::forked, module)?;
        let at_fork = [("after_in_child", forked)].into_py_dict(module.py())?;
        if let Some(register) = module.py().import("os")?.getattr_opt("register_at_fork")? {
            register.call((), Some(&at_fork))?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::band::{Band, load};
    #[pymodule_export]
    use crate::decision::Decision;
    #[pymodule_export]
    use crate::errors::BenchedWarning;
    #[pymodule_export]
    use crate::inner::Benched;
    #[pymodule_export]
    use crate::laws::laws;
    #[pymodule_export]
    use crate::log::{Valuation, evaluate, read_log};
    #[pymodule_export]
    use crate::runs::{
        Outcome, collect, count_cells, list_bases, list_environments, list_experiments, list_masters, run,
        run_cell,
    };
    #[pymodule_export]
    use crate::verify::verify_log;
    #[pymodule_export]
    use crate::world::World;
}
