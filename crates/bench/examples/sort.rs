//! Sorting numbers of 64 bits in memory: Eagre and its peers in turn, on the same numbers in the same pages.
//!
//! ```text
//! cargo run --release -p eagre-bench --example sort -- [EXPONENTS [PATTERN [ROUNDS]]]
//! cargo run --release -p eagre-bench --example sort -- 10,14,20,24 uniform 5
//! ```
//!
//! Millions of numbers per second, the best of all rounds by the clock. The second number is by processor time, summed
//! over threads: it stands still while others use the processors. NumPy sorts in a process of its own, if there is one
//! with NumPy; its threads are one. Every result is compared with the standard library's.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use rdst::RadixSort;
use voracious_radix_sort::RadixSort as _;

type Contender = (&'static str, fn(&mut [u64]));

const CONTENDERS: &[Contender] = &[
    ("eagre, 1 thread", |numbers| eagre::sort::Sorter::new().threads(1).sort(numbers).expect("memory")),
    ("eagre, all threads", |numbers| eagre::sort::sort(numbers)),
    ("std sort_unstable", |numbers| numbers.sort_unstable()),
    ("radsort", |numbers| radsort::sort(numbers)),
    ("voracious, 1 thread", |numbers| numbers.voracious_sort()),
    ("voracious, 2 threads", |numbers| numbers.voracious_mt_sort(2)),
    ("rdst, low memory", |numbers| {
        numbers.radix_sort_builder().with_low_mem_tuner().with_single_threaded_tuner().sort();
    }),
    ("rdst, all threads", |numbers| numbers.radix_sort_unstable()),
];

/// The best of the rounds, by clock and by processor time, in seconds.
type Best = (f64, f64);

const NUMPY: &str = "
import sys, time, numpy
rounds, n = int(sys.argv[1]), int(sys.argv[2])
source = numpy.frombuffer(sys.stdin.buffer.read(), dtype=numpy.uint64)
clock = cpu = 1e9
for _ in range(rounds):
    copy = source.copy()
    c, t = time.process_time(), time.perf_counter()
    for piece in copy.reshape(-1, n): piece.sort()
    clock, cpu = min(clock, time.perf_counter() - t), min(cpu, time.process_time() - c)
print(clock, cpu)
";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let exponents = arguments.first().map_or("10,14,17,20,24", |list| list);
    let pattern = arguments.get(1).map_or("uniform", |pattern| pattern);
    let rounds = arguments.get(2).map_or(5, |rounds| rounds.parse().expect("how many rounds"));
    for exponent in exponents.split(',') {
        let n = 1usize << exponent.parse::<u32>().expect("a power of two");
        // Small ones many times over, one after the other.
        let source = numbers(pattern, n * ((1 << 17) / n).max(1));
        let mut expected = source.clone();
        expected.chunks_mut(n).for_each(|piece| piece.sort_unstable());
        let mut best = vec![(f64::MAX, f64::MAX); CONTENDERS.len()];
        let mut copy = source.clone();
        for _ in 0..rounds {
            for ((name, sort), best) in CONTENDERS.iter().zip(&mut best) {
                copy.copy_from_slice(&source);
                let (cpu, clock) = (processor_time(), Instant::now());
                copy.chunks_mut(n).for_each(sort);
                let took = (clock.elapsed().as_secs_f64(), processor_time() - cpu);
                assert!(copy == expected, "{name} does not sort");
                *best = (best.0.min(took.0), best.1.min(took.1));
            }
        }
        println!("2^{exponent} {pattern}, {rounds} rounds: million a second by the clock, by processor time");
        let show = |name: &str, best: Best| {
            let rate = |seconds: f64| source.len() as f64 / seconds / 1e6;
            println!("  {name:22} {:7.0} {:7.0}", rate(best.0), rate(best.1));
        };
        CONTENDERS.iter().zip(best).for_each(|((name, _), best)| show(name, best));
        match numpy(&source, n, rounds) {
            Some(best) => show("NumPy, 1 thread", best),
            None => eprintln!("skipped: NumPy: python3 cannot import it"),
        }
    }
}

/// So many numbers, the same every time.
fn numbers(pattern: &str, n: usize) -> Vec<u64> {
    let mut generator = fastrand::Rng::with_seed(1);
    let mut random = move || generator.u64(..);
    let mut make: Box<dyn FnMut(usize) -> u64> = match pattern {
        "uniform" => Box::new(move |_| random()),
        // Every width as likely as any other.
        "exponential" => Box::new(move |_| random() >> (random() % 64)),
        // The k-th number of 2^24 about as often as 1/k.
        "zipf" => Box::new(move |_| 2f64.powf((random() >> 11) as f64 / (1u64 << 53) as f64 * 24.0) as u64),
        "few" => Box::new(move |_| (random() % 256).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        "sorted" => Box::new(|i| i as u64),
        "reversed" => Box::new(move |i| (n - i) as u64),
        "zeros" => Box::new(move |_| if random() % 1000 == 0 { random() } else { 0 }),
        "half" => Box::new(move |_| if random() % 2 == 0 { 1 << 40 } else { random() }),
        "normal" => Box::new(move |_| normal(&mut random).to_bits()),
        "prefix" => Box::new(move |_| 0x0123_4567_89ab << 24 | random() >> 40),
        "clusters" => Box::new(move |_| (random() % 2) << 63 | random() >> 34),
        "nearly" => Box::new(move |i| if random() % 100 == 0 { random() % n as u64 } else { i as u64 } << 20),
        "organ" => Box::new(move |i| i.min(n - i) as u64),
        "saw" => Box::new(move |i| (i % 1000) as u64),
        _ => panic!(
            "patterns: uniform exponential zipf few sorted reversed zeros half normal prefix clusters nearly organ saw"
        ),
    };
    (0..n).map(&mut *make).collect()
}

/// A number of 64 bits like any other, about zero.
fn normal(random: &mut impl FnMut() -> u64) -> f64 {
    let mut sum = -6.0;
    for _ in 0..12 {
        sum += random() as f64 / 2f64.powi(64);
    }
    sum
}

/// Of all threads of this process, in seconds.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn numpy(source: &[u64], n: usize, rounds: usize) -> Option<Best> {
    let mut child = Command::new("python3")
        .args(["-c", NUMPY, &rounds.to_string(), &n.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut pipe = child.stdin.take()?;
    for piece in source.chunks(1 << 16) {
        let bytes: Vec<u8> = piece.iter().flat_map(|number| number.to_le_bytes()).collect();
        pipe.write_all(&bytes).ok()?;
    }
    drop(pipe);
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some((words.next()??, words.next()??))
}
