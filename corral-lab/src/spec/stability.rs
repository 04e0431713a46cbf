//! Specs that measure stability instead of regret: a list of bases, each under E' at several ranges.

use super::located::Node;
use super::read::one_base;
use super::{BaseSpec, Result, SpecError, SpecText};

const KEYS: &[&str] = &["name", "asks", "rounds", "seeds", "ranges", "schedule", "stability", "fast"];

/// A table of stability exponents to be measured.
#[derive(Debug, Clone)]
pub struct StabilitySpec {
    /// The title.
    pub name: String,
    /// The question it asks.
    pub asks: Option<String>,
    /// Rounds of a run.
    pub rounds: u64,
    /// Seeds 0 to `seeds` - 1.
    pub seeds: u64,
    /// The ranges rho.
    pub ranges: Vec<f64>,
    /// The bases, each under every schedule.
    pub rows: Vec<StabilityRow>,
    /// The text it was read from, after every override.
    pub text: String,
}

/// A base whose exponent is measured.
#[derive(Debug, Clone)]
pub struct StabilityRow {
    /// The base; its label names the schedule where the spec has several.
    pub base: BaseSpec,
    /// The schedule of E'.
    pub schedule: String,
    /// The alpha that is claimed, where it is not that of the catalogue.
    pub alpha: Option<f64>,
    /// What multiplies the rounds for it.
    pub rounds_times: f64,
    /// What multiplies the seeds for it.
    pub seeds_times: u64,
}

impl StabilitySpec {
    /// Reads a spec of this kind; `None` where it is not one.
    ///
    /// # Errors
    /// Names the place and what is wrong there.
    pub fn of(source: &SpecText) -> Result<Option<Self>> {
        let table = &source.table;
        let Some(rows) = table.get("stability") else { return Ok(None) };
        table.only(KEYS)?;
        let range = |node: &Node| {
            node.number("ranges", "numbers of at least 1", |x| (1.0..f64::INFINITY).contains(&x))
        };
        let mut ranges = table.list("ranges").iter().map(range).collect::<Result<Vec<_>>>()?;
        if table.get("ranges").is_none() {
            ranges = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        }
        let mut schedules =
            table.list("schedule").iter().map(|n| n.text("schedule")).collect::<Result<Vec<_>>>()?;
        if table.get("schedule").is_none() {
            schedules = vec!["constant".to_owned()];
        }
        let each = rows.one_or_many().iter().flat_map(|node| schedules.iter().map(move |s| (node, s)));
        let rows: Vec<StabilityRow> =
            each.map(|(node, schedule)| row(node, schedule, schedules.len() > 1)).collect::<Result<_>>()?;
        if ranges.len() < 2 || rows.is_empty() {
            return Err(SpecError::whole("stability needs at least one base and two ranges"));
        }
        Ok(Some(Self {
            name: table.text("name")?.unwrap_or_else(|| "stability".to_owned()),
            asks: table.text("asks")?,
            rounds: table.count("rounds", 2)?.unwrap_or(20_000),
            seeds: table.count("seeds", 2)?.unwrap_or(20),
            ranges,
            rows,
            text: source.text().to_owned(),
        }))
    }
}

fn row(node: &Node, schedule: &str, named: bool) -> Result<StabilityRow> {
    let table = node.table("stability")?;
    table.only(&["base", "alpha", "rounds-times", "seeds-times"])?;
    let mut base = one_base(table.need("base", "the base is missing: base = { name = \"exp3\" }")?)?;
    if named {
        base.label = format!("{}, {schedule}", base.label);
    }
    Ok(StabilityRow {
        base,
        schedule: schedule.to_owned(),
        alpha: table.number("alpha", "in (0, 1]", |x| x > 0.0 && x <= 1.0)?,
        rounds_times: table
            .number("rounds-times", "a positive number", |x| x > 0.0 && x <= 1e6)?
            .unwrap_or(1.0),
        seeds_times: table.count("seeds-times", 1)?.unwrap_or(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Place;

    #[test]
    fn a_table_of_bases_is_read_and_checked() {
        let read = |text: &str| StabilitySpec::of(&SpecText::parse(text).unwrap());
        let text = "rounds = 100\nranges = [1, 2.5]\n[[stability]]\nbase = \"exp4\"\n[[stability]]\n\
                    base = { name = \"bgd\", label = \"slow\", rate = 0.1 }\nalpha = 0.25\nrounds-times = 10\n";
        let spec = read(text).unwrap().unwrap();
        assert_eq!((spec.rounds, spec.seeds, spec.ranges), (100, 20, vec![1.0, 2.5]));
        let [first, second] = spec.rows.as_slice() else { panic!("{:?}", spec.rows) };
        assert_eq!((first.base.label.as_str(), first.alpha, first.rounds_times), ("exp4", None, 1.0));
        assert_eq!(
            (second.base.label.as_str(), second.alpha, second.rounds_times),
            ("slow", Some(0.25), 10.0)
        );
        assert_eq!(second.base.recipe.params.len(), 1);
        assert!(read("rounds = 3").unwrap().is_none());
        let two =
            read("schedule = [\"constant\", \"decay\"]\n[[stability]]\nbase = \"exp4\"").unwrap().unwrap();
        let rows: Vec<_> = two.rows.iter().map(|r| (r.base.label.as_str(), r.schedule.as_str())).collect();
        assert_eq!(rows, [("exp4, constant", "constant"), ("exp4, decay", "decay")]);
        for (wrong, line, part) in [
            ("[[stability]]\nbase = 3", Some(2), "base"),
            ("[[stability]]\nalpha = 0.5", Some(1), "base is missing"),
            ("[[stability]]\nbase = \"exp4\"\nalpha = 2.0", Some(3), "in (0, 1]"),
            ("[[stability]]\nbase = \"exp4\"\nrounds-times = 0", Some(3), "positive"),
            ("ranges = [0]\n[[stability]]\nbase = \"exp4\"", Some(1), "at least 1"),
            ("ranges = [2]\n[[stability]]\nbase = \"exp4\"", None, "two ranges"),
            ("learner = 1\n[[stability]]\nbase = \"exp4\"", Some(1), "learner"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.place == line.map(Place::Line) && error.why.contains(part), "{wrong}: {error}");
        }
    }
}
