//! Binary trees in bumpalo's arenas, with the threads of the standard library.
//!
//!     trees DEPTH THREADS [reset] [zero]
//!
//! Every tree has a Bump of its own, which is dropped with it; with `reset` every
//! thread has one, which is reset after each tree. With `zero` what a tree used is
//! cleared before it is released, so that the work includes what a language needs
//! that hands out zeroed memory.
//!
//! The work is split as in the Go and the C program: see ../../trees/main.go.

use bumpalo::Bump;
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

const MIN_DEPTH: usize = 4;
const MAX_DEPTH: usize = 40;
const CHUNKS: usize = 16;

struct Node<'a> {
    left: Option<&'a Node<'a>>,
    right: Option<&'a Node<'a>>,
}

fn build(a: &Bump, depth: usize) -> &Node<'_> {
    let (left, right) = if depth > 0 {
        (Some(build(a, depth - 1)), Some(build(a, depth - 1)))
    } else {
        (None, None)
    };
    a.alloc(Node { left, right })
}

fn count(n: &Node) -> i64 {
    match (n.left, n.right) {
        (Some(l), Some(r)) => 1 + count(l) + count(r),
        _ => 1,
    }
}

/// Clears what was allocated.
fn clear(a: &mut Bump) {
    for chunk in a.iter_allocated_chunks() {
        // The compiler may leave out clearing what is freed next; not if the black
        // box has seen it.
        // Safety: a is borrowed mutably, so no node in it is in use, and a chunk is
        // the part of a's memory that was allocated from.
        unsafe { std::ptr::write_bytes(black_box(chunk.as_ptr() as *mut u8), 0, chunk.len()) }
    }
    black_box(a);
}

/// Builds trees one after the other and counts their nodes.
fn grow(a: &mut Bump, trees: usize, depth: usize, reset: bool, zero: bool) -> i64 {
    let mut nodes = 0;
    for _ in 0..trees {
        if reset {
            nodes += count(build(a, depth));
            if zero {
                clear(a);
            }
            a.reset();
        } else {
            let mut own = Bump::new();
            nodes += count(build(&own, depth));
            if zero {
                clear(&mut own);
            }
        }
    }
    nodes
}

fn usage() -> ! {
    eprintln!("usage: trees DEPTH THREADS [reset] [zero]");
    std::process::exit(2)
}

fn number(arg: Option<String>, least: usize, most: usize) -> usize {
    match arg.and_then(|s| s.parse().ok()) {
        Some(n) if n >= least && n <= most => n,
        _ => usage(),
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let max_depth = number(args.next(), MIN_DEPTH + 2, MAX_DEPTH);
    let threads = number(args.next(), 1, 1024);
    let (mut reset, mut zero) = (false, false);
    for arg in args {
        match arg.as_str() {
            "reset" => reset = true,
            "zero" => zero = true,
            _ => usage(),
        }
    }

    let nodes = grow(&mut Bump::new(), 1, max_depth + 1, false, zero);
    println!("stretch tree of depth {}\t check: {}", max_depth + 1, nodes);

    let long = Bump::new();
    let long_lived = build(&long, max_depth);

    let tasks = ((max_depth - MIN_DEPTH) / 2 + 1) * CHUNKS;
    let next = AtomicUsize::new(0);
    let total: Vec<AtomicI64> = (0..=max_depth).map(|_| AtomicI64::new(0)).collect();
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                let mut a = Bump::new();
                loop {
                    let t = next.fetch_add(1, Relaxed);
                    if t >= tasks {
                        break;
                    }
                    let depth = MIN_DEPTH + t / CHUNKS * 2;
                    let trees = (1 << (max_depth - depth + MIN_DEPTH)) / CHUNKS;
                    total[depth].fetch_add(grow(&mut a, trees, depth, reset, zero), Relaxed);
                }
            });
        }
    });
    for d in (MIN_DEPTH..=max_depth).step_by(2) {
        println!("{}\t trees of depth {}\t check: {}", 1u64 << (max_depth - d + MIN_DEPTH), d, total[d].load(Relaxed));
    }
    println!("long lived tree of depth {}\t check: {}", max_depth, count(long_lived));
}
