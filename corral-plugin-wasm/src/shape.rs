//! What a module must have, and must not have, before a byte of it is run.

use wasmi::{CompilationMode, Config, Engine, Module};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// No module is larger.
const MOST_BYTES: usize = 1 << 24;

/// A module that is well formed.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) module: Module,
    /// Where its data begin: all stack lies below.
    pub(crate) data: u32,
}

/// Compiles a module, all of it, so that no call pays for that.
pub(crate) fn examine(bytes: &[u8]) -> Result<Shape, String> {
    if bytes.len() > MOST_BYTES {
        return Err(format!("it has {} bytes; a module has at most {MOST_BYTES}", bytes.len()));
    }
    let mut config = Config::default();
    config.consume_fuel(true).ignore_custom_sections(true).compilation_mode(CompilationMode::Eager);
    config.wasm_memory64(false).wasm_multi_memory(false).wasm_tail_call(false).wasm_extended_const(false);
    config.set_max_recursion_depth(1000);
    let module = Module::new(&Engine::new(&config), bytes).map_err(|e| e.to_string())?;
    match module.imports().next() {
        Some(it) => {
            Err(format!("it imports {:?} from {:?}; a plugin imports nothing", it.name(), it.module()))
        }
        None => Ok(Shape { data: walk(bytes).map_err(|e| e.to_string())??, module }),
    }
}

/// Where its data begin. Refuses state outside of the memory, which would be missing in snapshots.
fn walk(bytes: &[u8]) -> wasmparser::Result<Result<u32, String>> {
    let (mut mutable, mut data) = (0, u32::MAX);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::GlobalSection(globals) => {
                for global in globals {
                    mutable += u32::from(global?.ty.mutable);
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    let DataKind::Active { offset_expr, .. } = segment?.kind else { continue };
                    let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                        return Ok(Err("the place of its data is computed, not a number".into()));
                    };
                    data = data.min(value as u32);
                }
            }
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader()? {
                    let (operator, why) = (operator?, "whose effect would be missing in snapshots");
                    use Operator::{
                        DataDrop, ElemDrop, TableCopy, TableFill, TableGrow, TableInit, TableSet,
                    };
                    if let DataDrop { .. } | ElemDrop { .. } | TableCopy { .. } | TableFill { .. } = operator
                    {
                        return Ok(Err(format!("it uses {operator:?}, {why}")));
                    }
                    if let TableGrow { .. } | TableInit { .. } | TableSet { .. } = operator {
                        return Ok(Err(format!("it uses {operator:?}, {why}")));
                    }
                }
            }
            _ => {}
        }
    }
    let more = "it has mutable globals beside __stack_pointer: their values would be missing in snapshots";
    Ok(if mutable == 1 { Ok(data) } else { Err(more.into()) })
}
