//! Data sets as environments: supervised data as a bandit, and logged bandit feedback.
//!
//! Files are read twice: once, when the environment is built, to learn its columns and to check every row, and then as
//! the rounds go. Memory does not grow with the file.

mod dataset;
mod encode;
mod logged;
mod rows;
mod source;

pub use dataset::{DataSet, DataSetParams};
pub use encode::Encoding;
pub use logged::{Logged, LoggedParams, Replay};
pub use rows::Format;
pub use source::DATA_FOLDER;
pub(crate) use source::open;

use crate::registry::{Row, entry, field};

pub(crate) const ROWS: &[Row] = &[
    Row {
        entry: entry(
            "dataset",
            "contextual",
            "a supervised data set as a bandit: an action costs 0 if it is the row's class, else 1",
            "CSV, ARFF, libsvm or Vowpal Wabbit text, also gzip",
            "contexts and losses as they come",
            "O(cells)",
            &[
                field("file", "", "the file, here or in the folder that CORRAL_DATA names"),
                field("format", "\"auto\"", "auto (by the file's name), csv, arff, libsvm or vw"),
                field("class", "unset", "the column of the class; unset: the last"),
                field("classes", "unset", "the number of classes, where more are a mistake"),
                field("categorical", "[]", "columns that are categorical though they look like numbers"),
                field("ignore", "[]", "columns that are no features"),
                field("encoding", "\"one-hot\"", "how categories become numbers: one-hot or hashed"),
                field("buckets", "256", "buckets of the hashed encoding"),
                field("repeat", "false", "begin again at the end of the file"),
            ],
        ),
        example: "file = 'tests/data/small.csv'\nrepeat = true",
        build: |request, _| {
            let params: DataSetParams = request.read()?;
            request.arms(params.check(request.rounds))
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
