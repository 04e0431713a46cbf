//! Tables as Parquet: name and version stand in the file's metadata.

use std::io::{self, Write};

use super::{Export, VERSION, Value, What};
use corral_log::parquet::{Cell, Columns};

pub fn write(export: &Export<'_>, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let columns: Vec<_> = export.columns(what).into_iter().map(|(name, kind)| (name, cell(&kind))).collect();
    let mut table = Columns::new(out, &columns)?;
    export.rows(what, &mut |row| table.row(row.iter().map(cell)))?;
    table.close(&[
        ("corral-export", VERSION.to_string()),
        ("what", what.name().to_owned()),
        ("run", export.0.spec.name.clone()),
    ])
}

fn cell<'a>(value: &Value<'a>) -> Cell<'a> {
    match *value {
        Value::Text(text) => Cell::Text(text),
        Value::Count(n) => Cell::Count(n),
        Value::Real(x) => Cell::Real(x),
        Value::Flag(yes) => Cell::Flag(yes),
    }
}
