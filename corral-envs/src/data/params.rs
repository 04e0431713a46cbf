//! What is said of a data set: where its rows are, and what becomes of their columns.

use super::columns::{Missing, PerColumn};
use super::rows::Format;
use crate::prelude::*;

/// More features than this are refused: 2^20.
pub const MOST_FEATURES: usize = 1 << 20;

params! {
    /// Parameters of [`DataSet`].
    pub struct DataSetParams {
        /// The file, here or in the folder that `CORRAL_DATA` names; gzip is recognised.
        file: String;
        /// How it is written.
        format: Format = Format::default();
        /// What stands between the cells of a CSV; found from its first lines where it is not given.
        separator: Option<char> = None;
        /// Whether the first line of a CSV names the columns; else they are called 1, 2, 3, ... Where it is not given, a first line
        /// that looks like a row is refused.
        header: Option<bool> = None;
        /// What decimals follow in numbers such as 1,234 or 1.234, where the column does not show it: a point or a comma.
        decimal: Option<char> = None;
        /// The column of the class (or the number); the last where it is not given.
        class: Option<String> = None;
        /// The number of classes; more are an error.
        classes: Option<usize> = None;
        /// The class is a number: so many answers lie evenly in its range, and cost their distance from it.
        levels: usize = 0, Bounds::between(0.0, 65_536.0);
        /// Instead of a class: the columns of the actions' losses.
        losses: Vec<String> = Vec::new();
        /// Columns that are categorical though they look like numbers.
        categorical: Vec<String> = Vec::new();
        /// Columns that are numbers though they look like codes, numbers of rows or times.
        numeric: Vec<String> = Vec::new();
        /// Columns that are no features.
        ignore: Vec<String> = Vec::new();
        /// What becomes of missing cells (empty, ?, NA, N/A, NaN, null), for all columns or by name: { age = "median", "*" = "mean" }.
        missing: PerColumn<Missing> = PerColumn::default();
        /// How categories become numbers.
        encoding: Encoding = Encoding::default();
        /// Buckets of the hashed encoding.
        buckets: usize = 256, Bounds::between(1.0, MOST_FEATURES as f64);
        /// How numbers are scaled.
        scaling: Scaling = Scaling::default();
        /// Into how many bins of equal count numbers are cut; 0: they stay numbers.
        bins: usize = 0, Bounds::between(0.0, 4_096.0);
        /// How many features are made of products of two others, hashed where the pairs are more.
        interactions: usize = 0, Bounds::between(0.0, MOST_FEATURES as f64);
        /// Play the rows in a random order, another one for every seed; they are held in memory.
        shuffle: bool = false;
        /// Begin again at the end of the file.
        repeat: bool = false;
    }

    /// How categories become numbers.
    pub enum Encoding {
        /// One feature per category.
        #[default]
        OneHot,
        /// A fixed number of buckets with signs.
        Hashed,
    }

    /// How numbers are scaled.
    pub enum Scaling {
        /// Less the mean, divided by the standard deviation, both of the whole file.
        #[default]
        Standard,
        /// To [0, 1], by the smallest and the largest number of the whole file.
        Range,
        /// Less the mean, divided by the standard deviation, both of the rows so far (this one included): no row tells of
        /// a later one.
        Running,
        /// As they stand.
        None,
    }
}
