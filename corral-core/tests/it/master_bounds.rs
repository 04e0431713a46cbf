//! What `docs/master-bounds.md` proves of every run, held against runs of the masters.

use corral_core::masters::{
    BlackBox, BlackBoxParams, D3rb, D3rbParams, DynamicBalancing, DynamicBalancingParams, Ed2rb, Estimator,
    Exp3P, Exp3PParams, Exp4Mix, Exp4MixParams, Hedged, HedgedParams, MasterSetup, REdUcb, REdUcbParams,
    Rbbe, RbbeParams, RegretBalancing, RegretBalancingParams, RegretBound, TsallisInf, TsallisInfParams,
};
use corral_core::{Credit, Master, draw_base, uniform};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

const BASES: usize = 5;
const ROUNDS: u64 = 3_000;

/// The losses of a round: noise, a leader that changes, and losses that punish what is followed most.
fn losses(kind: usize, round: u64, p: &[f64], rng: &mut Pcg64Dxsm) -> Vec<f64> {
    let most = p.iter().fold(0.0, |a: f64, b| a.max(*b));
    let one = |(i, p): (usize, &f64)| match kind {
        0 => f64::from(u8::from(rng.random_bool(0.3 + 0.1 * i as f64))),
        1 => f64::from(u8::from((round / 500) as usize % BASES != i)),
        _ => f64::from(u8::from(*p >= most)),
    };
    p.iter().enumerate().map(one).collect()
}

/// Plays a run with credit to the chosen base, and calls `see(p_t, base, estimates)` in every round.
fn run(master: &mut dyn Master, kind: usize, seed: u64, mut see: impl FnMut(&[f64], usize, &[f64])) {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    for round in 0..ROUNDS {
        let p = master.probabilities().to_vec();
        let all = losses(kind, round, &p, &mut rng);
        let (base, probability) = draw_base(master, &mut rng);
        let mut estimates = vec![0.0; BASES];
        estimates[base] = all[base] / probability;
        see(&p, base, &estimates);
        master.update(all[base], Credit::Chosen { base, weight: 1.0 / probability }).unwrap();
    }
}

fn each_run(mut of: impl FnMut(usize, u64)) {
    (0..3).for_each(|kind| (0..4).for_each(|seed| of(kind, seed)));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn setup() -> MasterSetup {
    MasterSetup::new(BASES, Some(ROUNDS))
}

/// Left and right side of an inequality that may be tight.
fn holds(what: &str, left: f64, right: f64) {
    assert!(left <= right + 1e-6 * right.abs().max(1.0), "{what}: {left} is above {right}");
}

#[test]
fn exp4_mix_has_the_bound_of_exponential_weights_and_shares_actions() {
    const ACTIONS: usize = 3;
    let (rate, mixing) = (0.02, 0.1);
    let params =
        Exp4MixParams { rate: Some(rate), mixing: Some(mixing), actions: Some(ACTIONS), bounds: None };
    let mut master = Exp4Mix::new(params, &setup()).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    let (mut cost, mut second, mut sums) = (0.0, 0.0, vec![0.0; BASES]);
    for round in 0..ROUNDS {
        let p = master.probabilities().to_vec();
        let q: Vec<f64> = p.iter().map(|p| (p - mixing / BASES as f64) / (1.0 - mixing)).collect();
        let policies: Vec<Vec<f64>> = (0..BASES)
            .map(|_| {
                let raw: Vec<f64> = (0..ACTIONS).map(|_| uniform(&mut rng).powi(3)).collect();
                raw.iter().map(|x| x / raw.iter().sum::<f64>()).collect()
            })
            .collect();
        let mixture = |a: usize| (0..BASES).map(|i| p[i] * policies[i][a]).sum::<f64>();
        // The mean of sum_j q_j w_j^2, over the action.
        let moment: f64 = (0..ACTIONS)
            .map(|a| (0..BASES).map(|j| q[j] * policies[j][a].powi(2)).sum::<f64>() / mixture(a))
            .sum();
        holds("second moment", moment, ACTIONS.min(BASES) as f64 / (1.0 - mixing));
        let mut drawn = uniform(&mut rng);
        let action = (0..ACTIONS - 1)
            .find(|a| {
                drawn -= mixture(*a);
                drawn < 0.0
            })
            .unwrap_or(ACTIONS - 1);
        let loss = f64::from(u8::from((round / 700) as usize % ACTIONS != action));
        let weights: Vec<f64> = (0..BASES).map(|i| policies[i][action] / mixture(action)).collect();
        assert!(weights.iter().all(|w| *w <= BASES as f64 / mixing));
        let estimates: Vec<f64> = weights.iter().map(|w| loss * w).collect();
        cost += dot(&q, &estimates);
        second += q.iter().zip(&estimates).map(|(q, l)| q * l * l).sum::<f64>();
        sums.iter_mut().zip(&estimates).for_each(|(s, l)| *s += l);
        master.update(loss, Credit::Shared(&weights)).unwrap();
    }
    for sum in sums {
        holds("exp4-mix", cost - sum, (BASES as f64).ln() / rate + 0.5 * rate * second);
    }
}

#[test]
fn exp3_p_has_the_bound_of_optimistic_gains() {
    let (m, t) = (BASES as f64, ROUNDS as f64);
    let delta = Exp3PParams::default().delta;
    let (bonus, rate) = (((m / delta).ln() / (t * m)).sqrt(), 0.95 * (m.ln() / (t * m)).sqrt());
    let mixing = 1.05 * (m * m.ln() / t).sqrt();
    assert!((1.0 + bonus) * m * rate <= mixing && mixing <= 0.5);
    each_run(|kind, seed| {
        let mut master = Exp3P::new(Exp3PParams::default(), &setup()).unwrap();
        let (mut gains, mut earned) = (vec![0.0; BASES], 0.0);
        run(&mut master, kind, seed, |p, base, estimates| {
            let gain = 1.0 - estimates[base] * p[base];
            earned += gain + bonus * m;
            for (i, g) in gains.iter_mut().enumerate() {
                *g += (if i == base { gain } else { 0.0 } + bonus) / p[i];
            }
        });
        let most = gains.iter().fold(0.0, |a: f64, b| a.max(*b));
        let least = (1.0 - mixing - rate * (1.0 + bonus) * m) * most - (1.0 - mixing) * m.ln() / rate;
        holds("exp3-p", least, earned);
    });
    // The sum of the five terms, wherever it says something: T >= 26.5 M ln(M/delta).
    for m in [2.0, 3.0, 10.0, 1000.0_f64] {
        for delta in [0.5, 0.05, 1e-6] {
            for times in [1.0, 3.0, 1e3, 1e6] {
                let t = 26.5 * m * f64::ln(m / delta) * times;
                let (b, eta) = (((m / delta).ln() / (t * m)).sqrt(), 0.95 * (m.ln() / (t * m)).sqrt());
                let gamma = 1.05 * (m * m.ln() / t).sqrt();
                assert!((1.0 + b) * m * eta <= gamma && gamma <= 0.5, "{m} {delta} {t}");
                let all =
                    b * m * t + gamma * t + (1.0 + b) * eta * m * t + (m / delta).ln() / b + m.ln() / eta;
                holds("five terms", all, 5.15 * (t * m * (m / delta).ln()).sqrt());
            }
        }
    }
}

#[test]
fn tsallis_inf_has_the_bound_of_its_regulariser() {
    let (m, t) = (BASES as f64, ROUNDS as f64);
    each_run(|kind, seed| {
        for reduced in [false, true] {
            let estimator = if reduced { Estimator::ReducedVariance } else { Estimator::ImportanceWeighted };
            let params = TsallisInfParams { estimator, ..TsallisInfParams::default() };
            let mut master = TsallisInf::new(params, &setup()).unwrap();
            let (mut round, mut cost, mut stable, mut sums) = (0.0, 0.0, 0.0, vec![0.0; BASES]);
            run(&mut master, kind, seed, |p, base, estimates| {
                round += 1.0;
                let eta = if reduced { 4.0 } else { 2.0 } / f64::sqrt(round);
                let shift = if reduced { 0.5 } else { 0.0 };
                for i in 0..BASES {
                    let baseline = if reduced && p[i] >= eta * eta { 0.5 } else { 0.0 };
                    let own = if i == base { baseline / p[i] } else { 0.0 };
                    let loss = estimates[i] - own + baseline;
                    cost += p[i] * loss;
                    sums[i] += loss;
                    let (c, root) = (loss - shift, 1.0 / p[i].sqrt());
                    assert!(root + 0.5 * eta * c > 0.0);
                    stable += 0.5 * eta * c * c * p[i] / (root + 0.5 * eta * c);
                }
            });
            // 4 (sqrt(M) - 1)/eta_T
            let penalty = if reduced { 1.0 } else { 2.0 } * t.sqrt() * (m.sqrt() - 1.0);
            sums.iter().for_each(|sum| holds("tsallis-inf", cost - sum, penalty + stable));
        }
    });
}

#[test]
fn hedged_gives_back_what_weights_cost_a_stable_base() {
    let (m, t) = (BASES as f64, ROUNDS as f64);
    for (alpha, scale) in [(0.5, 0.3), (0.5, 4.0), (0.25, 2.0), (0.75, 1.0)] {
        let bound = |i: usize| RegretBound { scale: scale * (1.0 + i as f64), exponent: 0.5, alpha };
        let regrets: Vec<f64> = (0..BASES).map(|i| bound(i).scale * t.sqrt()).collect();
        let biases = alpha / (1.0 - alpha) * (2.0 * m).powf(alpha - 1.0) * regrets.iter().sum::<f64>();
        let mut widest: f64 = 0.0;
        each_run(|kind, seed| {
            let params = HedgedParams { bounds: Some((0..BASES).map(bound).collect()) };
            let mut master = Hedged::new(params, &setup()).unwrap();
            let (mut cost, mut stable, mut sums) = (0.0, 0.0, vec![0.0; BASES]);
            let mut largest = [2.0 * m; BASES];
            run(&mut master, kind, seed, |p, _, estimates| {
                cost += dot(p, estimates);
                stable += p.iter().zip(estimates).map(|(p, l)| p.powf(1.5) * l * l).sum::<f64>() / t.sqrt();
                sums.iter_mut().zip(estimates).for_each(|(s, l)| *s += l);
                largest.iter_mut().zip(p).for_each(|(rho, p)| *rho = rho.max(1.0 / p));
            });
            for i in 0..BASES {
                widest = widest.max(largest[i]);
                let back = (largest[i].powf(alpha) - (2.0 * m).powf(alpha)) * regrets[i];
                let right = 2.0 * (m * t).sqrt() - 2.0 * t.sqrt() + stable + biases - back;
                holds("hedged", cost - sums[i], right);
            }
        });
        assert!(widest > 4.0 * m, "no bias grew: {widest}");
    }
}

#[test]
fn black_box_has_the_bound_of_two_players_in_every_epoch() {
    let others = BASES as f64 - 1.0;
    let c1 = 4.0 * others * others.ln();
    // q' for losses that differ by lead.
    let shares = |eta: f64, lead: f64| {
        let d = eta * lead;
        let s = (1.0 + 0.25 * d * d + (1.0 + d * d).sqrt()).sqrt();
        [(s + 0.5 * d).powi(-2), (s - 0.5 * d).powi(-2)]
    };
    let rate = |t: f64| 1.0 / (t.sqrt() + 8.0 * c1.sqrt());
    let mut epochs = 0;
    each_run(|kind, seed| {
        let mut master = BlackBox::new(BlackBoxParams::default(), &setup()).unwrap();
        let (mut candidate, mut before) = (0, c1.sqrt() * (ROUNDS as f64).ln());
        let (mut t, mut z, mut stretch) = (0.0, [0.0; 2], 0.0_f64);
        let (mut cost, mut allowed, mut inner, mut second) = (0.0, 0.0, 0.0, 0.0);
        let (mut sums, mut plays) = ([0.0; BASES], [0.0; BASES]);
        run(&mut master, kind, seed, |p, base, estimates| {
            t += 1.0;
            let q = [p[candidate], 1.0 - p[candidate]];
            let eta = rate(t);
            let lead = |z: &[f64; 2], stretch: f64| z[0] - z[1] + (c1 * stretch).sqrt();
            let leader = shares(eta, lead(&z, stretch));
            for (q, leader) in q.iter().zip(leader) {
                assert!((q - (1.0 - 0.5 / (t * t)) * leader - 0.25 / (t * t)).abs() < 1e-9, "{q} {leader}");
            }
            // 1 + f, of the player that was drawn.
            let loss = estimates[base] * p[base];
            let player = usize::from(base != candidate);
            let drawn = (1.0 + loss) / q[player];
            cost += leader[player] * drawn;
            allowed += eta * leader[player].powf(1.5) * drawn * drawn;
            z[player] += drawn;
            // EXP3 over the others.
            let wide = stretch + 1.0 / q[1];
            let slow = (others.ln() / (others * wide)).sqrt();
            inner += if player == 1 { loss / q[1] } else { 0.0 };
            second += 0.5 * slow * estimates[base].powi(2) * p[base] / q[1] * f64::from(player == 1);
            sums[base] += estimates[base];
            for j in (0..BASES).filter(|j| *j != candidate) {
                holds("exp3", inner - sums[j], others.ln() / slow + second);
            }
            // The bias grows.
            let later = shares(eta, lead(&z, wide));
            holds("ratio", later[1], 4.4 * q[1]);
            allowed += later[1] * ((c1 * wide).sqrt() - (c1 * stretch).sqrt());
            stretch = wide;
            let penalty = (8_f64.sqrt() - 2.0) / rate(t + 1.0);
            holds("candidate", cost - z[0], penalty + allowed);
            holds("others", cost - z[1] + (c1 * stretch).sqrt(), penalty + allowed);
            plays[base] += 1.0;
            if t >= 2.0 * before {
                let most = (0..BASES).find(|i| *i != candidate && plays[*i] >= 0.5 * t);
                if let Some(next) = most {
                    epochs += 1;
                    (candidate, before, t, z, stretch) = (next, t, 0.0, [0.0; 2], 0.0);
                    (cost, allowed, inner, second) = (0.0, 0.0, 0.0, 0.0);
                    (sums, plays) = ([0.0; BASES], [0.0; BASES]);
                }
            }
        });
    });
    assert!(epochs > 0, "no candidate was replaced");
}

/// A deterministic master over rewards that `earn(base, plays)` says: plays and rewards per base after every round.
fn follow(
    master: &mut dyn Master,
    rounds: u64,
    mut earn: impl FnMut(usize, u64, &[f64]) -> f64,
) -> Vec<Vec<f64>> {
    let mut rewards = vec![Vec::new(); BASES];
    for round in 0..rounds {
        let p = master.probabilities().to_vec();
        let base = p.iter().position(|p| *p == 1.0).unwrap();
        let reward = earn(base, round, &p);
        rewards[base].push(reward);
        master.update(1.0 - reward, Credit::Chosen { base, weight: 1.0 }).unwrap();
    }
    rewards
}

#[test]
fn regret_balancing_has_m_times_the_bound_of_any_base_that_keeps_it() {
    each_run(|kind, seed| {
        let target = RegretBound::new(1.5, 0.5);
        let mut master =
            RegretBalancing::new(RegretBalancingParams { target: Some(target) }, &setup()).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let rewards =
            follow(&mut master, ROUNDS, |base, round, p| 1.0 - losses(kind, round, p, &mut rng)[base]);
        let all: f64 = rewards.iter().flatten().sum();
        for own in &rewards {
            // The largest mu for which the base keeps the bound.
            let (mut mu, mut sum) = (1.0, 0.0);
            for (n, reward) in own.iter().enumerate() {
                sum += reward;
                mu = f64::min(mu, (sum + target.at((n + 1) as f64)) / (n + 1) as f64);
            }
            let right = BASES as f64 * (target.at(ROUNDS as f64) + 1.0);
            holds("regret-balancing", mu * ROUNDS as f64 - all, right);
        }
    });
}

/// Bases whose regret after n plays is about rate_i sqrt(n), with noise: base 3 keeps the least.
#[test]
fn balancing_by_confidence_has_its_bound() {
    const T: u64 = 20_000;
    let (m, t) = (BASES as f64, T as f64);
    // What bases do, and what is claimed of them: the first two break it.
    let (rates, claimed) = ([8.0, 4.0, 3.0, 0.5, 2.0], [1.0, 1.5, 3.0, 1.0, 2.0]);
    let mean = |i: usize, n: f64| (0.8 - rates[i] * (f64::sqrt(n) - f64::sqrt(n - 1.0))).max(0.0);
    let given = || Some(claimed.map(|d| RegretBound::new(d, 0.5)).to_vec());
    let (star, least) = (3, 1.0);
    for seed in 0..3 {
        for master in ["rbbe", "dynamic-balancing", "d3rb", "ed2rb"] {
            let setup = MasterSetup::new(BASES, Some(T));
            let data_driven = ["d3rb", "ed2rb"].contains(&master);
            let (scale, delta) = if data_driven { (1.0, 0.01) } else { (2.0, 0.01) };
            let mut built: Box<dyn Master> = match master {
                "rbbe" => Box::new(
                    Rbbe::new(RbbeParams { bounds: given(), ..RbbeParams::default() }, &setup).unwrap(),
                ),
                "d3rb" => Box::new(D3rb::new(D3rbParams::default(), &setup).unwrap()),
                "ed2rb" => Box::new(Ed2rb::new(D3rbParams::default(), &setup).unwrap()),
                _ => Box::new(
                    DynamicBalancing::new(
                        DynamicBalancingParams { bounds: given(), ..DynamicBalancingParams::default() },
                        &setup,
                    )
                    .unwrap(),
                ),
            };
            let (mut rng, mut plays) = (Pcg64Dxsm::seed_from_u64(seed), [0.0; BASES]);
            let rewards = follow(&mut *built, T, |base, _, _| {
                plays[base] += 1.0;
                f64::from(u8::from(rng.random_bool(mean(base, plays[base]))))
            });
            let short = |i: usize, n: usize| (1..=n).map(|k| 0.8 - mean(i, k as f64)).sum::<f64>();
            let regret: f64 = (0..BASES).map(|i| short(i, rewards[i].len())).sum();
            // The event that the bound is conditional on.
            for own in rewards.iter().enumerate() {
                let (mut sum, mut expected) = (0.0, 0.0);
                for (n, reward) in own.1.iter().enumerate() {
                    let n = (n + 1) as f64;
                    sum += reward;
                    expected += mean(own.0, n);
                    let width = scale * (n * (m * n.ln().max(1.0) / delta).ln()).sqrt();
                    assert!((sum - expected).abs() <= width, "{master}: base {} is off", own.0);
                }
            }
            let b = scale * (m * t.ln() / delta).ln().sqrt();
            let (root, all) = (t.sqrt(), (m * t).sqrt());
            let bound = if data_driven {
                // d_* = d_min = 1, so that the two differ by factors alone, and max(T/d_min, sqrt(T)) is T.
                let d = 1.0;
                let (first, wide, log) = match master {
                    "d3rb" => (2.0 * 2f64.sqrt(), 2.0 * 2f64.sqrt(), root.log2()),
                    _ => (1.0, 2f64.sqrt(), t.log2()),
                };
                first * m * d * root + (2.0 * b + wide * (d + 2.0 * b) * d) * all + m * (3.0 + log)
            } else {
                let d = claimed[star];
                m * d * root + (2.0 * b + (d + 2.0 * b) * d / least) * all + m
            };
            println!("{master}: regret {regret:.0}, bound {bound:.0}");
            holds(master, regret, bound);
        }
    }
}

/// Steps 1 to 5 of the proof for ED2RB, on potentials that are computed here: bases that fall short by rate_i sqrt(n), base 3 by the
/// least, and rates d_min on both sides of that.
#[test]
fn ed2rb_keeps_its_potentials_between_two_roots() {
    const T: u64 = 20_000;
    const STAR: usize = 3;
    const DELTA: f64 = 0.01;
    let (m, t) = (BASES as f64, T as f64);
    let rates = [8.0, 4.0, 3.0, 0.5, 2.0];
    let mean = |i: usize, n: f64| (0.8 - rates[i] * (n.sqrt() - (n - 1.0).sqrt())).max(0.0);
    let ln = |n: f64| (m * n.ln().max(1.0) / DELTA).ln();
    let mut most = 0;
    for (seed, least_rate) in [(0, 1.0), (1, 1.0), (2, 0.1), (3, 0.02)] {
        let (d, b) = (rates[STAR].max(least_rate), ln(t).sqrt());
        let params = D3rbParams { least_rate, ..D3rbParams::default() };
        let mut master = Ed2rb::new(params, &MasterSetup::new(BASES, Some(T))).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let (mut plays, mut earned, mut short) = ([0.0; BASES], [0.0; BASES], [0.0; BASES]);
        let (mut potential, mut lower) = ([least_rate; BASES], [f64::NEG_INFINITY; BASES]);
        let mut cuts = [0; BASES];
        // Of each base the plays, the gap, the plays of base * and what it had fallen short by at m, and a play that may become it.
        let (mut at, mut last) = ([None; BASES], [None; BASES]);
        for _ in 0..T {
            let i = master.probabilities().iter().position(|p| *p == 1.0).unwrap();
            let argmin = (0..BASES).min_by(|a, b| potential[*a].total_cmp(&potential[*b])).unwrap();
            assert_eq!(i, argmin);
            if let Some(play) = last[i].take() {
                at[i] = Some(play);
            }
            plays[i] += 1.0;
            let (n, before) = (plays[i], potential[i]);
            let reward = f64::from(u8::from(rng.random_bool(mean(i, n))));
            earned[i] += reward;
            short[i] += 0.8 - mean(i, n);
            // The event that the bound is conditional on.
            assert!((earned[i] - 0.8 * n + short[i]).abs() <= (n * ln(n)).sqrt());
            master.update(1.0 - reward, Credit::Chosen { base: i, weight: 1.0 }).unwrap();
            let width = (ln(n) / n).sqrt();
            lower[i] = earned[i] / n - width;
            let gap = lower.iter().fold(f64::NEG_INFINITY, |a: f64, b| a.max(*b)) - earned[i] / n - width;
            let raw = (n * gap).max(least_rate * n.sqrt());
            potential[i] = raw.clamp(before, 2.0 * before);
            if raw > 2.0 * before {
                cuts[i] += 1;
            } else if i != STAR && plays[STAR] > 0.0 {
                last[i] = Some((n, gap, plays[STAR], short[i]));
            }
            holds("1", potential[STAR], d * plays[STAR].max(1.0).sqrt());
            holds("2", least_rate * n.sqrt(), potential[i]);
        }
        let log = f64::log2(f64::max(t / least_rate, t.sqrt()));
        for j in (0..BASES).filter(|j| *j != STAR) {
            most = most.max(cuts[j]);
            holds("3", f64::from(cuts[j]), log);
            let Some((n, gap, stars, so_far)) = at[j] else {
                holds("5", plays[j], log + 3.0);
                continue;
            };
            holds("4", n * gap, d * t.sqrt());
            holds("4", n, 2.0 * (d / least_rate).powi(2) * stars);
            holds("5", plays[j], n + log + 1.0);
            let right = d * t.sqrt() + (2.0 * b + 2f64.sqrt() * (d + 2.0 * b) * d / least_rate) * n.sqrt();
            holds("regret", so_far, right);
        }
    }
    assert!(most >= 2, "no play was cut");
}

/// Steps 1 to 4 of the proof for R-ed-UCB, with the index computed here: curves that rise to their ends like e^(-n/tau), with a noise
/// that is small, so that the bound is below T.
#[test]
fn r_ed_ucb_loses_what_slopes_and_noise_allow() {
    const T: usize = 2_000;
    const CURVES: [(f64, f64, f64); 3] = [(0.5, 0.2, 10.0), (0.9, 0.7, 60.0), (0.8, 0.1, 200.0)];
    let (window, noise) = (0.25, 2e-4);
    let mean = |i: usize, n: usize| {
        let (end, rise, tau) = CURVES[i];
        end - rise * (-(n as f64) / tau).exp()
    };
    let t_all = T as f64;
    let c = 2.0 * noise * t_all * (40.0 * t_all.ln()).sqrt();
    for seed in 0..2 {
        let params = REdUcbParams { noise, window, longest: T as u32, ..REdUcbParams::default() };
        let mut master = REdUcb::new(params, &MasterSetup::new(3, Some(T as u64))).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let mut rewards = vec![Vec::new(); 3];
        let (mut lost, mut slopes, mut widths) = (0.0, 0.0, vec![0.0; 3]);
        for t in 1..=T {
            let base = master.probabilities().iter().position(|p| *p == 1.0).unwrap();
            let n = rewards[base].len();
            let h = (window * n as f64) as usize;
            // No less than what the best base alone has.
            let best = (0..3).map(|i| mean(i, t)).fold(0.0, f64::max);
            let costs = best - mean(base, n + 1);
            lost += costs;
            if h > 0 {
                // The estimate over x, and the bonus.
                let index = |i: usize, x: &dyn Fn(usize) -> f64| {
                    let n = rewards[i].len();
                    let h = (window * n as f64) as usize;
                    let slope = |l: usize| (x(l) - x(l - h)) / h as f64;
                    (n - h + 1..=n).map(|l| x(l) + (t - l) as f64 * slope(l)).sum::<f64>() / h as f64
                };
                let bonus = |i: usize| {
                    let n = rewards[i].len();
                    let h = (window * n as f64).floor();
                    noise * (t as f64 - n as f64 + h - 1.0) * (40.0 * (t as f64).ln() / (h * h * h)).sqrt()
                };
                let mut most = f64::NEG_INFINITY;
                for (i, own) in rewards.iter().enumerate() {
                    let (seen, true_) = (index(i, &|l| own[l - 1]), index(i, &|l| mean(i, l)));
                    holds("1", mean(i, t), true_);
                    // The event that the bound is conditional on.
                    assert!((seen - true_).abs() <= bonus(i), "round {t}: base {i} is off");
                    most = most.max(seen + bonus(i));
                }
                holds("the choice", most, index(base, &|l| rewards[base][l - 1]) + bonus(base));
                let rise = mean(base, n - 2 * h + 2) - mean(base, n - 2 * h + 1);
                let (slope, width) = (f64::min(1.0, t_all * rise), f64::min(1.0, 2.0 * bonus(base)));
                holds("3", costs, slope + width);
                slopes += slope;
                widths[base] += width;
            }
            let reward: f64 = mean(base, n + 1) + noise * (2.0 * uniform(&mut rng) - 1.0);
            rewards[base].push(reward);
            master.update(1.0 - reward, Credit::Chosen { base, weight: 1.0 }).unwrap();
        }
        for width in &widths {
            holds("4", *width, (1.0 / window + 1.0) * 3.0 * c.powf(2.0 / 3.0));
        }
        let right = slopes + 3.0 * (1.0 / window + 1.0) * (1.0 + 3.0 * c.powf(2.0 / 3.0));
        println!("r-ed-ucb: regret {lost:.0}, slopes {slopes:.0}, bound {right:.0}");
        holds("regret", lost, right);
        assert!(right < t_all);
    }
}
