//! Why a set, or a point of one, cannot be used.

/// Why a set, or a point of one, cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// A set of R^0.
    #[error("a set needs at least one dimension, but has 0")]
    ZeroDimension,
    /// A simplex needs two vertices to have anything to decide.
    #[error("a simplex needs at least 2 vertices, but has {0}")]
    Vertices(usize),
    /// A point, row or list of another length.
    #[error("{what} has length {found}, but {expected} was expected")]
    Dimension {
        /// What was measured: "the point", "row 3", "the list of bounds".
        what: String,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{what} holds {value}, which is not finite")]
    NotFinite {
        /// Where it stands.
        what: String,
        /// The number.
        value: f64,
    },
    /// A row of the constraints that constrains nothing.
    #[error("row {0} of the constraints is zero")]
    ZeroRow(usize),
    /// No point satisfies the constraints.
    #[error("no point satisfies the constraints: the best one violates them by {violation}")]
    Empty {
        /// The least possible largest violation, with rows normalised.
        violation: f64,
    },
    /// The constraints leave no room for a ball.
    #[error("the constraints leave no interior: the largest ball inside has radius {radius}")]
    NoInterior {
        /// Radius of the largest ball inside.
        radius: f64,
    },
    /// The constraints do not bound a coordinate.
    #[error("the constraints do not bound coordinate {coordinate}")]
    Unbounded {
        /// The coordinate.
        coordinate: usize,
    },
    /// A finite set without points.
    #[error("a finite set needs at least one point")]
    NoPoints,
    /// The same point twice in a finite set.
    #[error("points {0} and {1} are equal")]
    Duplicate(usize, usize),
    /// A centre that is not in the interior.
    #[error("the centre is not inside the set: a ball around it that fits has radius {radius}")]
    CentreOutside {
        /// The radius of the largest ball around it, negative outside.
        radius: f64,
    },
    /// An affine map that cannot be inverted.
    #[error("the affine map is singular: pivot {pivot} in column {column}")]
    Singular {
        /// The pivot that was left.
        pivot: f64,
        /// Its column.
        column: usize,
    },
    /// An operation that this kind of set does not offer.
    #[error("{what} is not defined on a {kind}")]
    Unsupported {
        /// The operation.
        what: &'static str,
        /// The kind of set.
        kind: &'static str,
    },
    /// A linear program or a projection that did not end.
    #[error("{what} did not end within {iterations} iterations")]
    Iterations {
        /// What was computed.
        what: &'static str,
        /// The bound that was reached.
        iterations: usize,
    },
}

impl SetError {
    /// Goes on where `what` has the length that was expected.
    ///
    /// # Errors
    /// It has not.
    pub fn same_length(what: &str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected {
            Ok(())
        } else {
            Err(Self::Dimension { what: what.to_owned(), found, expected })
        }
    }

    /// Goes on where all numbers of `what` are finite.
    ///
    /// # Errors
    /// One is not.
    pub fn finite(what: &str, numbers: &[f64]) -> Result<(), Self> {
        match numbers.iter().find(|v| !v.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Self::NotFinite { what: what.to_owned(), value: *value }),
        }
    }
}
