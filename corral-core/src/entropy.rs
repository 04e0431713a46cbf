//! How far one law is from another.

/// kl(p, q) = p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)) for 0 < q < 1, where 0 ln 0 = 0; by ln(1 + .) so that it keeps
/// its digits where q is near p.
#[inline]
pub fn relative_entropy(p: f64, q: f64) -> f64 {
    let off = q - p;
    let yes = if p > 0.0 { -p * (off / p).ln_1p() } else { 0.0 };
    let no = if p < 1.0 { -(1.0 - p) * (-off / (1.0 - p)).ln_1p() } else { 0.0 };
    yes + no
}
