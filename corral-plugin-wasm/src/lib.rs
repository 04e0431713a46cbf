//! The portable door of Corral plugins: the table of `corral_plugin.h`, compiled to a WebAssembly module, on any platform.
//!
//! A module exports `memory`, `__indirect_function_table`, `corral_plugin_v1` and `__stack_pointer`, and imports nothing. It is
//! interpreted by `wasmi`, so it reaches neither files nor the host's memory, and every call has a limit of steps. The host
//! puts what it lends on the module's stack, as a C caller does; random numbers come from the host, so a base gives the same run
//! linked, as a native library and as a module, bit for bit. Its memory is the whole state of a base: a
//! snapshot is what became of it since `create`, and `save`, `load` and `destroy` of the table are never called.
//!
//! ```
//! use corral_plugin_abi::host::{Plugins, LoadPolicy};
//! let plugins = Plugins::new(LoadPolicy { wasm: Some(corral_plugin_wasm::open), ..LoadPolicy::default() });
//! assert!(plugins.list().is_empty()); // until a folder is added
//! ```

mod base;
mod calls;
mod instance;
mod module;
mod shape;

pub use module::open;
