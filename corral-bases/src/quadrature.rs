//! Gauss and Legendre's quadrature, on panels of the line.

use std::sync::LazyLock;

/// Nodes of a panel.
pub(crate) const NODES: usize = 16;

/// Gauss and Legendre's quadrature on [0, 1], and the integrals from 0 to each node of the polynomials through the nodes.
pub(crate) struct Quadrature {
    pub nodes: [f64; NODES],
    pub weights: [f64; NODES],
    /// Row i integrates from 0 to node i.
    pub partial: [[f64; NODES]; NODES],
}

pub(crate) static QUADRATURE: LazyLock<Quadrature> = LazyLock::new(|| {
    // P_0(x), .., P_NODES(x)
    let legendre = |x: f64| {
        let mut p = [1.0; NODES + 1];
        p[1] = x;
        for n in 1..NODES {
            p[n + 1] = ((2 * n + 1) as f64 * x * p[n] - n as f64 * p[n - 1]) / (n + 1) as f64;
        }
        p
    };
    let mut rule = Quadrature { nodes: [0.0; NODES], weights: [0.0; NODES], partial: [[0.0; NODES]; NODES] };
    let mut at = [[0.0; NODES + 1]; NODES];
    for (i, polynomials) in at.iter_mut().enumerate() {
        let mut x = -(std::f64::consts::PI * (i as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
        let slope =
            |x: f64, p: &[f64; NODES + 1]| NODES as f64 * (x * p[NODES] - p[NODES - 1]) / (x * x - 1.0);
        for _ in 0..20 {
            let p = legendre(x);
            x -= p[NODES] / slope(x, &p);
        }
        *polynomials = legendre(x);
        rule.nodes[i] = 0.5 * (x + 1.0);
        rule.weights[i] = 1.0 / ((1.0 - x * x) * slope(x, polynomials).powi(2));
    }
    for i in 0..NODES {
        for k in 0..NODES {
            // The k-th polynomial is sum_n (2 n + 1) w_k P_n(x_k) P_n(x), and P_n has the integral
            // (P_{n+1}(x) - P_{n-1}(x))/(2 n + 1).
            let higher = (1..NODES).map(|n| at[k][n] * (at[i][n + 1] - at[i][n - 1])).sum::<f64>();
            rule.partial[i][k] = 0.5 * rule.weights[k] * (at[i][1] + 1.0 + higher);
        }
    }
    rule
});
