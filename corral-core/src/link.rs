//! Links of generalised linear models, as plain data: environments draw losses by them, and bases fit them, so that "the link is
//! true" can be said exactly.

crate::params! {
    /// The link sigma: the mean loss is sigma(u).
    pub enum Link {
        /// 1/(1 + exp(-u)).
        #[default]
        Logistic,
        /// exp(u) for u <= 0, and 1 above.
        Exponential,
        /// The distribution function of the normal distribution.
        Probit,
        /// u.
        Identity,
    }
}

impl Link {
    /// sigma(u), by the platform's exponential function: for learners.
    #[inline]
    pub fn mean(self, u: f64) -> f64 {
        self.mean_by(u, f64::exp)
    }

    /// sigma(u) to the same bit on every platform: for environments.
    #[inline]
    pub fn portable_mean(self, u: f64) -> f64 {
        self.mean_by(u, libm::exp)
    }

    #[inline]
    fn mean_by(self, u: f64, exp: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Logistic => 1.0 / (1.0 + exp(-u)),
            Self::Exponential => exp(u.min(0.0)),
            Self::Probit => 0.5 * libm::erfc(-u * std::f64::consts::FRAC_1_SQRT_2),
            Self::Identity => u,
        }
    }

    /// sigma'(u).
    pub fn slope(self, u: f64) -> f64 {
        match self {
            Self::Logistic => {
                let e = (-u.abs()).exp();
                e / ((1.0 + e) * (1.0 + e))
            }
            Self::Exponential if u <= 0.0 => u.exp(),
            Self::Exponential => 0.0,
            Self::Probit => (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt(),
            Self::Identity => 1.0,
        }
    }

    /// The convex function whose derivative is sigma: the negative quasi-log-likelihood of (u, c) is this minus c u.
    pub fn potential(self, u: f64) -> f64 {
        match self {
            Self::Logistic => u.max(0.0) + (-u.abs()).exp().ln_1p(),
            Self::Exponential => u.min(0.0).exp() + u.max(0.0),
            Self::Probit => u * self.mean(u) + self.slope(u),
            Self::Identity => 0.5 * u * u,
        }
    }

    /// sup and inf of sigma' over |u| <= bound.
    pub fn slopes(self, bound: f64) -> (f64, f64) {
        match self {
            Self::Logistic | Self::Probit => (self.slope(0.0), self.slope(bound)),
            Self::Exponential => (1.0, (-bound).exp()),
            Self::Identity => (1.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_same_by_either_exponential_function_up_to_rounding() {
        for link in [Link::Logistic, Link::Exponential, Link::Probit, Link::Identity] {
            for i in -400..=400 {
                let u = f64::from(i) / 20.0;
                let (mean, portable) = (link.mean(u), link.portable_mean(u));
                assert!((mean - portable).abs() <= 1e-15 * mean.abs(), "{link:?} {u}: {mean} {portable}");
            }
        }
    }
}
