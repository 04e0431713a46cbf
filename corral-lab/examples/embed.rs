//! A service that learns which offer to show: rewards come late or never, and the service is stopped on the way.
//!
//! `cargo run --release -p corral-lab --example embed`

use corral_bases::BaseParams;
use std::error::Error;

use corral_bases::arms::{Exp3Params, ThompsonParams, Ucb1Params};
use corral_core::{
    Arm, Base, Context, Corral, CorralParams, Ensemble, EnsembleParams, Expiry, Horizon, Pending, Rate,
    Setup, TicketId, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Band = Ensemble<Context, Arm, Corral>;

const ROUNDS: u64 = 20_000;
/// How often each offer is clicked. The service does not know.
const CLICKS: [f64; 4] = [0.02, 0.05, 0.15, 0.08];

/// Three learners under Corral. A stopped service builds the same, and loads what was saved.
fn build() -> Result<Band, Box<dyn Error>> {
    let setup = Setup::arms(CLICKS.len(), Some(ROUNDS));
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![
        Box::new(Exp3Params::default().build(&setup)?),
        Box::new(Ucb1Params::default().build(&setup)?),
        Box::new(ThompsonParams::default().build(&setup)?),
    ];
    let params = CorralParams { rate: Rate::Fast, ..CorralParams::new(bases.len(), Horizon::Known(ROUNDS)) };
    // Its tickets leave the process: the system draws what they are sealed with.
    let open = corral_bases::band::open(EnsembleParams::default())?;
    Ok(Band::with_params(Corral::new(params)?, bases, open)?.with_setup(&setup))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = Pcg64Dxsm::seed_from_u64(7);
    let mut band = build()?;
    let mut pending = Pending::new(1_000);
    let mut clicks_to_come: Vec<(u64, TicketId)> = Vec::new();
    let mut clicks = 0;

    for now in 0..ROUNDS {
        // A request: choose, remember the ticket, show the offer.
        let x = Context::plain(CLICKS.len());
        let ticket = band.choose(&x, &mut rng)?;
        let clicked = uniform(&mut rng) < CLICKS[ticket.decision.index()];
        let id = pending.insert(x, ticket, now)?;
        if clicked {
            clicks_to_come.push((now + (50.0 * uniform(&mut rng)) as u64, id));
        }

        // Clicks come back in any order: loss 0.
        while let Some(at) = clicks_to_come.iter().position(|(when, _)| *when <= now) {
            pending.reward(clicks_to_come.swap_remove(at).1, 0.0, &mut band)?;
            clicks += 1;
        }
        // Who has not clicked within 100 requests will not: loss 1.
        for late in pending.expire(now.saturating_sub(100), Expiry::Loss(1.0))? {
            band.learn(&late.context, late.ticket, late.loss)?;
        }

        // Half way the service is stopped, and started again: nothing is lost, not even the tickets that wait.
        if now == ROUNDS / 2 {
            let (saved, waiting) = (band.save(), pending.save()?);
            (band, pending) = (build()?, Pending::load(&waiting)?);
            band.load(&saved)?;
            println!("saved {} bytes and {} waiting tickets", saved.len(), pending.len());
        }
    }

    println!(
        "{clicks} clicks of {ROUNDS} requests; the best offer alone would have had {}",
        ROUNDS as f64 * 0.15
    );
    for ((name, tally), p) in
        ["exp3", "ucb1", "thompson"].iter().zip(band.tallies()).zip(band.probabilities())
    {
        println!("{name:9} followed {:5} times, now with probability {p:.2}", tally.plays);
    }
    Ok(())
}
