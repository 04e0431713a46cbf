//! Rows of a log as a table of Parquet.

use std::io::{self, Write};

use super::{ABOUT, About, Cell, Columns};
use crate::convert::outcome;
use crate::{Header, Offered, Row, Sink, VERSION};

const COLUMNS: [(&str, Cell<'static>); 20] = [
    ("id", Cell::Text(None)),
    ("key", Cell::Text(None)),
    ("at", Cell::Count(None)),
    ("action", Cell::Count(None)),
    ("offered", Cell::Count(None)),
    ("offered_actions", Cell::Counts(None)),
    ("propensity", Cell::Real(None)),
    ("exact", Cell::Flag(None)),
    ("forced", Cell::Flag(None)),
    ("reward", Cell::Real(None)),
    ("loss", Cell::Real(None)),
    ("weight", Cell::Real(None)),
    ("keep", Cell::Real(None)),
    ("unit", Cell::Text(None)),
    ("pbar", Cell::Reals(None)),
    ("q", Cell::Reals(None)),
    ("full", Cell::Reals(None)),
    ("context", Cell::Text(None)),
    ("base", Cell::Count(None)),
    ("digest", Cell::Text(None)),
];

/// Writes rows as Parquet.
pub struct ParquetOut<W: Write + Send> {
    table: Option<Columns<W>>,
    header: Header,
    rows: u64,
    /// Whether bases came or went after the first row.
    changed: bool,
    /// Sealed tickets, which are not kept.
    tickets: u64,
}

impl<W: Write + Send> ParquetOut<W> {
    /// Writes to `to`.
    ///
    /// # Errors
    /// What `to` says.
    pub fn new(to: W) -> io::Result<Self> {
        let table = Some(Columns::new(to, &COLUMNS)?);
        Ok(Self { table, header: Header::default(), rows: 0, changed: false, tickets: 0 })
    }
}

impl<W: Write + Send> Sink for ParquetOut<W> {
    fn write(&mut self, row: &Row, header: &Header) -> io::Result<bool> {
        let Some(table) = &mut self.table else { return Err(io::Error::other("the table is finished")) };
        if self.header != *header {
            let names = self.header.actions.iter().zip(&header.actions).all(|(before, now)| before == now);
            if self.rows > 0 && !(names && self.header.scale == header.scale) {
                let why = "the log gives its actions other names, or its rewards another range, after row";
                return Err(io::Error::other(format!("{why} {}: a table has one of each", self.rows)));
            }
            self.changed |= self.rows > 0 && self.header.bases != header.bases;
            self.header.clone_from(header);
        }
        self.rows += 1;
        self.tickets += u64::from(row.ticket.is_some());
        let is_loss = row.given.as_ref().is_some_and(|given| given.loss.is_some());
        let outcome = |as_loss: bool| outcome(row, header.scale, as_loss).filter(|_| as_loss == is_loss);
        let id = row.id.map(|id| id.to_string());
        let context = row.context.as_ref().map(serde_json::to_string).transpose()?;
        let listed = match &row.offered {
            Offered::First(_) => None,
            Offered::These(list) => Some(&list[..]),
        };
        let list = |values| Cell::Reals(Some(values).filter(|v: &&[f64]| !v.is_empty()));
        let cells: [Cell<'_>; COLUMNS.len()] = [
            Cell::Text(id.as_deref()),
            Cell::Text(row.key.as_deref()),
            Cell::Count(row.at),
            Cell::Count(Some(u64::from(row.action))),
            Cell::Count(Some(row.offered.len() as u64)),
            Cell::Counts(listed),
            Cell::Real(row.propensity),
            Cell::Flag(Some(row.exact)),
            Cell::Flag(Some(row.forced)),
            Cell::Real(outcome(false)),
            Cell::Real(outcome(true)),
            Cell::Real(row.given.as_ref().and_then(|given| given.weight)),
            Cell::Real(Some(row.keep)),
            Cell::Text(row.unit.as_deref()),
            list(&row.pbar),
            list(&row.q),
            list(&row.full),
            Cell::Text(context.as_deref()),
            Cell::Count(row.base.map(u64::from)),
            Cell::Text(row.digest.as_deref()),
        ];
        table.row(cells)?;
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(table) = self.table.take() else { return Ok(()) };
        let about = About {
            version: VERSION,
            model: self.header.model.clone(),
            bases: self.header.bases.clone(),
            actions: self.header.actions.clone(),
            scale: self.header.scale,
        };
        table.close(&[(ABOUT, serde_json::to_string(&about)?)])
    }

    fn notes(&self) -> Vec<String> {
        let changed = "bases came or went: the file names those of the last row";
        let tickets = || format!("{} sealed tickets are not kept", self.tickets);
        let changed = self.changed.then(|| changed.to_owned());
        changed.into_iter().chain((self.tickets > 0).then(tickets)).collect()
    }
}
