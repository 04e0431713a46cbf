//! How a CSV is written, found from its first lines: what stands between cells, and whether the first line names them.

use csv::ByteRecord;

use super::cells::number;
use super::dates::is_date;
use super::questions::{Fix, Question, Trouble};
use super::rows::{File, Format};
use super::source::{at, broken, foreign};
use super::style::readable;
use std::io::Read;
use std::path::Path;

/// What may stand between cells, the most usual first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Bytes and records that are looked at.
const MOST_BYTES: u64 = 1 << 16;
const MOST_RECORDS: usize = 100;

/// Lines before a header that are taken for titles.
const MOST_TITLES: usize = 5;

/// The file as it is to be read: where separator or header are not given, as its first lines show them. A file that is not UTF-8 is
/// looked through for the line that is not, so that its words stay apart.
pub fn file(
    path: &Path,
    format: Format,
    separator: Option<u8>,
    header: Option<bool>,
) -> Result<File, Trouble> {
    let format = format.of(path);
    let mut file = File { format, foreign: foreign(path)?, ..File::csv(path.to_owned()) };
    if format != Format::Csv {
        return Ok(file);
    }
    let mut head = Vec::new();
    file.open()?.take(MOST_BYTES).read_to_end(&mut head).map_err(|e| broken(path, None, &e))?;
    // A last line that was cut says nothing.
    if head.len() as u64 == MOST_BYTES
        && let Some(end) = head.iter().rposition(|b| *b == b'\n')
    {
        head.truncate(end + 1);
    }
    file.separator = match separator {
        Some(separator) => separator,
        None => find_separator(path, &head)?,
    };
    file.header = match header {
        Some(header) => header,
        None => {
            ask_header(&records(&head, file.separator))?;
            true
        }
    };
    Ok(file)
}

fn records(head: &[u8], separator: u8) -> Vec<ByteRecord> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.flexible(true).has_headers(false).delimiter(separator).from_reader(head);
    reader.into_byte_records().take(MOST_RECORDS).map_while(Result::ok).collect()
}

/// How a separator cuts the first lines: the cells of the first, and how many lines have as many.
fn cuts(head: &[u8], separator: u8) -> (usize, usize, usize) {
    let records = records(head, separator);
    let cells = records.first().map_or(0, ByteRecord::len);
    (cells, records.iter().filter(|r| r.len() == cells).count(), records.len())
}

/// That all lines have as many cells but the first one or few.
fn titled(head: &[u8], separator: u8) -> Option<String> {
    let records = records(head, separator);
    let cells = records.last().map_or(0, ByteRecord::len);
    let first = records.iter().rposition(|r| r.len() != cells).map_or(0, |last| last + 1);
    if cells < 2 || !(1..=MOST_TITLES).contains(&first) || records.len() < first + 2 {
        return None;
    }
    let which = match (first, records[0].len()) {
        (1, 1) => "the first line has 1 cell".to_owned(),
        (1, own) => format!("the first line has {own} cells"),
        _ => format!("the first {first} lines have other numbers of cells"),
    };
    Some(format!(
        "{which} and all others have {cells}: titles, comments and hints for spreadsheets are taken out, and every column has a name"
    ))
}

/// The separator that cuts every line into as many cells. Where several do, it is asked; where none does, the one that comes
/// nearest, so that the line that does not fit is named later.
fn find_separator(path: &Path, head: &[u8]) -> Result<u8, Trouble> {
    let tried = SEPARATORS.map(|separator| (separator, cuts(head, separator)));
    let fits: Vec<_> = tried.iter().filter(|(_, (cells, same, of))| *cells > 1 && same == of).collect();
    match fits.as_slice() {
        [(separator, _)] => Ok(*separator),
        [(first, (a, ..)), (second, (b, ..)), ..] => {
            let what = format!(
                "the lines can be cut at {:?} ({a} cells) and at {:?} ({b} cells): `separator` says which it is",
                char::from(*first),
                char::from(*second)
            );
            Err(Question {
                line: Some(1),
                what,
                fix: Fix::Separator(char::from(if a >= b { *first } else { *second })),
            }
            .into())
        }
        [] => {
            if let Some(why) = SEPARATORS.iter().find_map(|separator| titled(head, *separator)) {
                return Err(at(path, Some(1), why).into());
            }
            let near =
                tried.iter().filter(|(_, (cells, ..))| *cells > 1).max_by_key(|(_, (_, same, _))| *same);
            let one = || {
                let why = "one cell in the first line, wherever it is cut (`,`, `;`, tab, `|`): `separator` says what \
                           stands between cells; a table needs a column beside the class";
                at(path, Some(1), why).into()
            };
            match near {
                Some((separator, _)) => Ok(*separator),
                None if head.is_empty() => Ok(b','),
                None => Err(one()),
            }
        }
    }
}

/// Asks where the first line looks like a row: one of its cells is a number or a date, and they do not count the columns.
fn ask_header(records: &[ByteRecord]) -> Result<(), Trouble> {
    let Some(first) = records.first() else { return Ok(()) };
    let counts = |from: usize| {
        first.iter().enumerate().all(|(i, cell)| cell.trim_ascii() == (i + from).to_string().as_bytes())
    };
    let value = |cell: &&[u8]| number(cell).is_some() || readable(cell) || is_date(cell);
    let Some(cell) = first.iter().find(value) else { return Ok(()) };
    if counts(0) || counts(1) {
        return Ok(());
    }
    let what = format!(
        "the first line holds {:?}, which looks like a value and not like the name of a column: header = false where it \
         is a row, header = true where it has names",
        String::from_utf8_lossy(cell)
    );
    Err(Question { line: Some(1), what, fix: Fix::Header(false) }.into())
}
