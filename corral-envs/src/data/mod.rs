//! Data sets as environments: supervised data as a bandit, and logged bandit feedback.
//!
//! Files are read twice: once, when the environment is built, to learn its columns and to check every row, and then as
//! the rounds go. Memory does not grow with the file.

mod arff;
mod cells;
mod columns;
mod dataset;
mod encode;
mod logged;
mod rows;
mod source;
mod target;

pub use columns::{ColumnInfo, Missing, PerColumn, Table};
pub use dataset::{DataSet, DataSetParams};
pub use encode::{Encoding, Scaling};
pub use logged::{Logged, LoggedParams, Replay};
pub use rows::Format;
pub(crate) use rows::{File, Texts};
pub use source::{DATA_FOLDER, LONGEST_LINE};
pub(crate) use source::{at, matrix, resolve};

use crate::registry::{Row, entry, field};

const MISSING: &str = "missing cells (empty, ?, NA, N/A, NaN, null): error, mean, median, category, indicator or drop-row; or a table of columns, { age = \"median\", \"*\" = \"mean\" }";

const SCALING: &str = "numbers: standard (mean and deviation of the file), range (to [0, 1]), running (mean and deviation of the rows so far), none";

pub(crate) const ROWS: &[Row] = &[
    Row {
        entry: entry(
            "dataset",
            "contextual",
            "a supervised data set as a bandit: an action costs 0 if it is the row's class, else 1; or its distance from a number, or what a column says",
            "CSV, ARFF, libsvm or Vowpal Wabbit text, also gzip",
            "contexts and losses as they come",
            "O(cells)",
            &[
                field("file", "", "the file, here or in the folder that CORRAL_DATA names"),
                field("format", "\"auto\"", "auto (by the file's name), csv, arff, libsvm or vw"),
                field("separator", "\",\"", "what stands between the cells of a CSV"),
                field(
                    "header",
                    "true",
                    "whether the first line of a CSV names the columns, else 1, 2, 3, ...",
                ),
                field("class", "unset", "the column of the class (or number); unset: the last"),
                field("classes", "unset", "the number of classes, where more are a mistake"),
                field(
                    "levels",
                    "0",
                    "the class is a number: so many answers lie evenly in its range, and cost their distance from it",
                ),
                field("losses", "[]", "instead of a class: one column of losses per action"),
                field("categorical", "[]", "columns that are categorical though they look like numbers"),
                field("ignore", "[]", "columns that are no features"),
                field("missing", "\"error\"", MISSING),
                field("encoding", "\"one-hot\"", "how categories become numbers: one-hot or hashed"),
                field("buckets", "256", "buckets of the hashed encoding"),
                field("scaling", "\"standard\"", SCALING),
                field("bins", "0", "into how many bins of equal count numbers are cut; 0: they stay numbers"),
                field(
                    "interactions",
                    "0",
                    "how many features are made of products of two others, hashed where the pairs are more",
                ),
                field("repeat", "false", "begin again at the end of the file"),
            ],
        ),
        example: "file = 'tests/data/small.csv'\nrepeat = true",
        build: |request, _| {
            let params: DataSetParams = request.read()?;
            request.game(params.check())
        },
    },
    Row {
        entry: entry(
            "logged",
            "contextual",
            "logged bandit feedback with propensities, replayed by rejection or by weights",
            "Li, Chu, Langford, Wang 2011, Unbiased offline evaluation of contextual-bandit-based news article recommendation algorithms",
            "a log of another policy; mean losses are estimates",
            "O(cells)",
            &[
                field("file", "", "the file, here or in the folder that CORRAL_DATA names"),
                field("action", "\"item_id\"", "the column of the action, counted from 0"),
                field(
                    "reward",
                    "\"click\"",
                    "the column of the reward in [0, 1]; the loss is 1 less the reward",
                ),
                field(
                    "propensity",
                    "\"propensity_score\"",
                    "the column of the probability of the logged action",
                ),
                field("ignore", "[]", "columns that are no features"),
                field("missing", "\"error\"", MISSING),
                field("scaling", "\"standard\"", SCALING),
                field("replay", "\"rejection\"", "rejection, or weighted: E' with the log's propensities"),
                field("buckets", "64", "buckets for the categories"),
                field("repeat", "false", "begin again at the end of the file"),
            ],
        ),
        example: "file = 'tests/data/logged.csv'\naction = 'action'\nreward = 'reward'\npropensity = 'propensity'\nrepeat = true",
        build: |request, _| {
            let params: LoggedParams = request.read()?;
            request.arms(params.check(request.rounds))
        },
    },
];
