// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! One id from /dev/snowflake, and what is in it: Rust, without a crate.
//!
//!     rustc next.rs && ./next [DEVICE]
//!
//! A File is unbuffered, and has to stay so: a BufReader would take 1,024 ids to
//! give one, and hand out the others, by then old, for as long as it lives.

use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;

// The layout of the device, here Twitter's; see snowflake(4) for others.
const EPOCH_MS: u64 = 1288834974657;
const WORKER_BITS: u32 = 10;
const SEQUENCE_BITS: u32 = 12;

/// Open it once and keep it: ids of one open file rise.
struct Snowflake(File);

impl Snowflake {
    fn open(device: &str) -> io::Result<Self> {
        File::open(device).map(Snowflake)
    }

    /// The next id; for any number of threads.
    fn next(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];

        (&self.0).read_exact(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// Unix time in milliseconds, worker id and sequence of an id.
fn decode(id: u64) -> (u64, u64, u64) {
    (
        (id >> (WORKER_BITS + SEQUENCE_BITS)) + EPOCH_MS,
        id >> SEQUENCE_BITS & ((1 << WORKER_BITS) - 1),
        id & ((1 << SEQUENCE_BITS) - 1),
    )
}

fn main() -> ExitCode {
    let device = std::env::args().nth(1);
    let device = device.as_deref().unwrap_or("/dev/snowflake");

    match Snowflake::open(device).and_then(|snowflake| snowflake.next()) {
        Ok(id) => {
            let (unix_ms, worker, sequence) = decode(id);

            println!("id {id} unix_ms {unix_ms} worker {worker} sequence {sequence}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{device}: {error}");
            ExitCode::FAILURE
        }
    }
}
