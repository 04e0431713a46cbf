//! Tables as Parquet: every column may be null, rows in groups, name and version in the file's metadata.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{Export, VERSION, Value, What};

const ROWS_IN_A_GROUP: usize = 100_000;

/// The values of one column that are there, and which ones are.
#[derive(Default)]
struct Column {
    texts: Vec<ByteArray>,
    counts: Vec<i64>,
    reals: Vec<f64>,
    flags: Vec<bool>,
    there: Vec<i16>,
}

impl Column {
    fn push(&mut self, value: &Value<'_>) {
        let pushed = match *value {
            Value::Text(text) => text.map(|text| self.texts.push(ByteArray::from(text))),
            Value::Count(n) => n.map(|n| self.counts.push(n as i64)),
            Value::Real(x) => x.map(|x| self.reals.push(x)),
            Value::Flag(yes) => yes.map(|yes| self.flags.push(yes)),
        };
        self.there.push(i16::from(pushed.is_some()));
    }
}

pub fn write(export: &Export<'_>, what: What, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let columns = export.columns(what);
    let fields: String = columns
        .iter()
        .map(|(name, kind)| match kind {
            Value::Text(_) => format!("optional binary {name} (UTF8); "),
            Value::Count(_) => format!("optional int64 {name}; "),
            Value::Real(_) => format!("optional double {name}; "),
            Value::Flag(_) => format!("optional boolean {name}; "),
        })
        .collect();
    let schema = parse_message_type(&format!("message corral {{ {fields} }}")).map_err(io::Error::other)?;
    let about = [
        ("corral-export", VERSION.to_string()),
        ("what", what.name().to_owned()),
        ("run", export.0.spec.name.clone()),
    ];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec();
    let properties = WriterProperties::builder().set_key_value_metadata(Some(about)).build();
    let mut file =
        SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(io::Error::other)?;
    let fresh = || -> Vec<Column> { columns.iter().map(|_| Column::default()).collect() };
    let mut group = fresh();
    export.rows(what, &mut |row| {
        for (column, value) in group.iter_mut().zip(row) {
            column.push(value);
        }
        if group[0].there.len() == ROWS_IN_A_GROUP {
            flush(&mut file, &columns, &std::mem::replace(&mut group, fresh()))?;
        }
        Ok(())
    })?;
    if !group[0].there.is_empty() {
        flush(&mut file, &columns, &group)?;
    }
    file.close().map(|_| ()).map_err(io::Error::other)
}

fn flush(
    file: &mut SerializedFileWriter<&mut (dyn Write + Send)>,
    columns: &[(String, Value<'static>)],
    group: &[Column],
) -> io::Result<()> {
    let write = || -> parquet::errors::Result<()> {
        let mut out = file.next_row_group()?;
        for ((_, kind), column) in columns.iter().zip(group) {
            let Some(mut to) = out.next_column()? else { break };
            let there = Some(column.there.as_slice());
            match kind {
                Value::Text(_) => to.typed::<ByteArrayType>().write_batch(&column.texts, there, None)?,
                Value::Count(_) => to.typed::<Int64Type>().write_batch(&column.counts, there, None)?,
                Value::Real(_) => to.typed::<DoubleType>().write_batch(&column.reals, there, None)?,
                Value::Flag(_) => to.typed::<BoolType>().write_batch(&column.flags, there, None)?,
            };
            to.close()?;
        }
        out.close()?;
        Ok(())
    };
    let mut write = write;
    write().map_err(io::Error::other)
}
