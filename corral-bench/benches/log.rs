//! How fast a decision log is read and valued.

use std::hint::black_box;

use corral_core::{Context, TicketId};
use corral_log::{
    Both, Decided, Estimator, Evaluation, Given, Named, Options, Ours, Played, Reader, Record, Row,
    RowSource, Start, Target, Wants, Writer,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

const LINES: u64 = 10_000;

/// A log of a band of four bases over ten actions, with contexts of eight features.
fn log() -> Vec<u8> {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut writer = Writer::new(Vec::new());
    let bases = ["linucb", "ucb1", "exp3", "random"].map(str::to_owned).to_vec();
    writer.write(&Record::Start(Start { bases, ..Start::new(1) })).expect("memory");
    for round in 0..LINES {
        let mut numbers = |n: usize| (0..n).map(|_| rng.random::<f64>()).collect::<Vec<_>>();
        let (pbar, q, features) = (numbers(4), numbers(4), numbers(8));
        let decision = Decided {
            propensity: Some(rng.random::<f64>().max(0.05)),
            base: Some(0),
            pbar,
            q,
            context: Some(Context::shared(features, 10)),
            ..Decided::new(TicketId { band: 1, copy: 0, round }, Played::Arm((round % 10) as u32), 10)
        };
        let given = Given::reward(f64::from(u8::from(rng.random::<f64>() < 0.5)));
        writer.write(&Record::Both(Both { decision, given })).expect("memory");
    }
    writer.into_inner()
}

fn ours(log: &[u8]) -> Ours<&[u8]> {
    Ours::new(Reader::new(log), Wants { q: true, ..Wants::default() })
}

// How many lines a second are read and valued by IPS with an interval that is valid at any time, beside reading them into
// rows alone? At least a million, and at most twice the time. The other rows: every record whole, and the chain too.
fn read_and_value(c: &mut Criterion) {
    let log = log();
    let mut group = c.benchmark_group("log/lines");
    group.throughput(Throughput::Elements(LINES));
    group.bench_function("read rows", |b| {
        b.iter(|| {
            let (mut source, mut row, mut rows) = (ours(&log), Row::default(), 0u64);
            while source.next(&mut row).expect("rows") {
                rows += 1;
            }
            assert_eq!(rows, LINES);
            black_box(row.reward)
        });
    });
    group.bench_function("read and value by ips", |b| {
        b.iter(|| {
            let policy: Box<dyn Target> = Box::new(Named::read("base:linucb").expect("a policy"));
            let options =
                Options { estimators: vec![Estimator::Ips], differences: false, ..Options::default() };
            let mut evaluation = Evaluation::new(vec![policy], None, options);
            let (mut source, mut row, mut met) = (ours(&log), Row::default(), false);
            while source.next(&mut row).expect("rows") {
                if !met {
                    evaluation.meet(source.header()).expect("its base");
                    met = true;
                }
                evaluation.add(&row);
            }
            black_box(evaluation.report(Vec::new()).used)
        });
    });
    group.bench_function("read records", |b| {
        b.iter(|| {
            let mut reader = Reader::new(&log[..]);
            while let Some(record) = reader.read().expect("records") {
                black_box(&record);
            }
        });
    });
    group.bench_function("read records and the chain", |b| {
        b.iter(|| {
            let mut reader = Reader::new(&log[..]).checked(0);
            while let Some(record) = reader.read().expect("records") {
                black_box(&record);
            }
            assert_eq!(reader.faults().count(), 0);
        });
    });
    group.finish();
}

criterion_group!(benches, read_and_value);
criterion_main!(benches);
