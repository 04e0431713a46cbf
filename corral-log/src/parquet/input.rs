//! Rows of a log from a table of Parquet.

use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use super::{ABOUT, About};
use crate::ours::ONE_OUTCOME;
use crate::seen::Seen;
use crate::source::{Refused, check};
use crate::{
    Fault, FaultKind, Faults, Given, Header, Offered, ReadError, Row, RowSource, Scale, TableError, VERSION,
    Wants, parse_id,
};

/// Reads rows from Parquet: the columns `action` and `offered` must be there, others need not be.
pub struct ParquetIn {
    rows: RowIter<'static>,
    at: u64,
    wants: Wants,
    header: Header,
    seen: Seen,
    faults: Faults,
    strict: bool,
}

impl ParquetIn {
    /// Reads from `from` what is asked for; outcomes lie on `scale`, where the file does not say.
    ///
    /// # Errors
    /// It is not Parquet, or a column is missing.
    pub fn new<R: ChunkReader + 'static>(
        from: R,
        wants: Wants,
        scale: Option<Scale>,
        strict: bool,
    ) -> Result<Self, TableError> {
        let other = |e: ParquetError| TableError::Parquet(e.to_string());
        let file = SerializedFileReader::new(from).map_err(other)?;
        let about = file.metadata().file_metadata();
        let columns: Vec<String> =
            about.schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
        let needed = ["action", "offered"].into_iter().chain(wants.columns.iter().map(String::as_str));
        if let Some(missing) = needed.chain(wants.unit.as_deref()).find(|n| !columns.iter().any(|c| c == n)) {
            let found = columns.iter().take(20).cloned().collect();
            return Err(TableError::Column { wanted: missing.to_owned(), found });
        }
        let said = about.key_value_metadata().and_then(|all| all.iter().find(|pair| pair.key == ABOUT));
        let about = match said.and_then(|pair| pair.value.as_ref()) {
            Some(text) => serde_json::from_str::<About>(text)
                .map_err(|e| TableError::Parquet(format!("its key {ABOUT:?} cannot be read: {e}")))?,
            None => About::default(),
        };
        if about.version != VERSION {
            let why =
                format!("version {} of the format; this library reads version {VERSION}", about.version);
            return Err(TableError::Parquet(why));
        }
        let header = Header {
            bases: about.bases,
            actions: about.actions,
            scale: about.scale.or(scale),
            columns: wants.columns.clone(),
            model: about.model,
        };
        let rows = RowIter::from_file_into(Box::new(file));
        Ok(Self { rows, at: 0, wants, header, seen: Seen::default(), faults: Faults::default(), strict })
    }

    fn fill(&self, from: &parquet::record::Row, row: &mut Row) -> Result<(), Refused> {
        row.clear(self.wants.columns.len());
        let (mut action, mut offered, mut listed, mut outcome) = (None, None, None, None);
        let (mut other, mut weight) = (None, None);
        for (name, field) in from.get_column_iter() {
            if matches!(field, Field::Null) {
                continue;
            }
            let wants = &self.wants;
            let read = match name.as_str() {
                "id" => label(field).map(|text| match parse_id(&text) {
                    Some(id) => row.id = Some(id),
                    // Of a file that others wrote.
                    None => other = Some(text).filter(|text| !text.is_empty()),
                }),
                "key" => label(field).map(|key| row.key = Some(key).filter(|key| !key.is_empty())),
                "base" if wants.labels => whole(field).map(|base| row.base = Some(base)),
                "digest" if wants.labels => words(field).map(|text| row.digest = Some(text.to_owned())),
                "weight" if wants.labels => number(field).map(|w| weight = Some(w)),
                "at" => number(field).map(|at| row.at = Some(at as u64)),
                "action" => whole(field).map(|a| action = Some(a)),
                "offered" => whole(field).map(|n| offered = Some(n)),
                "offered_actions" => items(field)
                    .and_then(|l| l.iter().map(whole).collect())
                    .map(|l: Vec<u32>| listed = Some(l)),
                "propensity" => number(field).map(|p| row.propensity = Some(p)),
                "exact" => flag(field).map(|yes| row.exact = yes),
                "forced" => flag(field).map(|yes| row.forced = yes),
                "reward" | "loss" => match number(field).map(|v| outcome.replace((v, name == "loss"))) {
                    Some(Some(_)) => return Err((FaultKind::Garbage, ONE_OUTCOME.into())),
                    read => read.map(drop),
                },
                "keep" => number(field).map(|k| row.keep = k),
                "pbar" if wants.pbar || wants.full => numbers(field, &mut row.pbar),
                "q" if wants.q => numbers(field, &mut row.q),
                "full" if wants.full => numbers(field, &mut row.full),
                "context" if wants.context => words(field)
                    .and_then(|text| serde_json::from_str(text).ok())
                    .map(|context| row.context = Some(context)),
                _ => Some(()),
            };
            let garbage =
                || (FaultKind::Garbage, format!("the column {name} cannot be read: it has {field}"));
            read.ok_or_else(garbage)?;
            if wants.unit_field() == Some(name) {
                row.unit = Some(label(field).unwrap_or_else(|| field.to_string())).filter(|u| !u.is_empty());
            }
            for (at, _) in wants.columns.iter().enumerate().filter(|(_, column)| *column == name) {
                let into = &mut row.columns[at];
                number(field).map(|p| into.push(p)).or_else(|| numbers(field, into)).ok_or_else(garbage)?;
            }
        }
        let missing = |what: &str| (FaultKind::Garbage, format!("the column {what} is null"));
        row.action = action.ok_or_else(|| missing("action"))?;
        let count = offered.ok_or_else(|| missing("offered"))?;
        row.offered = listed.map_or(Offered::First(count), Offered::These);
        if let Some((value, is_loss)) = outcome {
            row.give(self.header.scale, Given { weight, ..Given::of(value, is_loss) })?;
        }
        row.key = other.or(row.key.take());
        check(row)?;
        row.mix_logger();
        Ok(())
    }
}

impl RowSource for ParquetIn {
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        loop {
            let Some(next) = self.rows.next() else { return Ok(false) };
            let from =
                next.map_err(|why| ReadError::Io { line: self.at, why: std::io::Error::other(why) })?;
            self.at += 1;
            let (kind, why) = match self.fill(&from, row) {
                Ok(()) if self.seen.add_row(row) => (FaultKind::Duplicate, Fault::SEEN.to_owned()),
                Ok(()) => return Ok(true),
                Err(refused) => refused,
            };
            self.faults.take(Fault::new(kind, self.at, why, from.to_string().as_bytes()), self.strict)?;
        }
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }
}

fn words(field: &Field) -> Option<&str> {
    match field {
        Field::Str(text) => Some(text),
        Field::Bytes(bytes) => bytes.as_utf8().ok(),
        _ => None,
    }
}

/// Words, or a whole number in their place.
fn label(field: &Field) -> Option<String> {
    words(field).map(str::to_owned).or_else(|| whole(field).map(|n| n.to_string()))
}

fn flag(field: &Field) -> Option<bool> {
    match field {
        Field::Bool(yes) => Some(*yes),
        _ => None,
    }
}

fn number(field: &Field) -> Option<f64> {
    Some(match *field {
        Field::Double(x) => x,
        Field::Float(x) => f64::from(x),
        Field::Bool(yes) => f64::from(u8::from(yes)),
        Field::Long(n) => n as f64,
        ref other => f64::from(whole(other)?),
    })
}

fn whole(field: &Field) -> Option<u32> {
    match *field {
        Field::Byte(n) => n.try_into().ok(),
        Field::Short(n) => n.try_into().ok(),
        Field::Int(n) => n.try_into().ok(),
        Field::Long(n) => n.try_into().ok(),
        Field::UByte(n) => Some(n.into()),
        Field::UShort(n) => Some(n.into()),
        Field::UInt(n) => Some(n),
        Field::ULong(n) => n.try_into().ok(),
        _ => None,
    }
}

fn items(field: &Field) -> Option<&[Field]> {
    match field {
        Field::ListInternal(list) => Some(list.elements()),
        _ => None,
    }
}

fn numbers(field: &Field, into: &mut Vec<f64>) -> Option<()> {
    for item in items(field)? {
        into.push(if matches!(item, Field::Null) { f64::NAN } else { number(item)? });
    }
    Some(())
}
