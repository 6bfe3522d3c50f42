//! A ring of blocks that libfabric's provider `tcp` writes: registered once, no copy beside what TCP makes.

use std::time::Duration;

use eagre_fabric::{Fabric, FabricError, FabricErrorKind, Ring, Sender};

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill};
use crate::memory::{words_of, words_of_mut};

/// The blocks, as those of a stream between processes of one machine: 4 MiB may be on their way.
const BLOCK: u64 = 1 << 20;
const BLOCKS: u64 = 4;
/// More than a busy machine takes to connect two threads.
const PATIENCE: Duration = Duration::from_secs(30);

/// A ring is opened anew for each run, before the clock starts.
pub(crate) struct Registered {
    fabric: Fabric,
}

fn trouble(error: FabricError) -> Trouble {
    match error.kind() {
        FabricErrorKind::Missing => Trouble::Unavailable(error.to_string()),
        _ => Trouble::failed("ring", error),
    }
}

impl Registered {
    pub(crate) fn new() -> Result<Registered, Trouble> {
        let fabric = Fabric::open().map_err(trouble)?;
        match fabric.providers().map_err(trouble)?.iter().any(|provider| provider.name == "tcp") {
            true => Ok(Registered { fabric }),
            false => Err(Trouble::Unavailable("libfabric has no provider tcp".into())),
        }
    }
}

impl Contender for Registered {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let ring = Ring::new(&self.fabric, loopback, BLOCK, BLOCKS).map_err(trouble)?;
        let (fabric, offer) = (self.fabric, ring.offer().clone());
        let (sender, receiver) = std::thread::scope(|scope| {
            let sender = scope.spawn(|| Sender::connect(&fabric, &offer, PATIENCE));
            let receiver = ring.accept(PATIENCE);
            (sender.join(), receiver)
        });
        let sender = sender.map_err(|_| Trouble::Failed("the connecting thread panicked".into()))?;
        let (mut sender, mut receiver) = (sender.map_err(trouble)?, receiver.map_err(trouble)?);
        let (took, (), answer) = two_threads(
            move || {
                let mut written = 0;
                while written < size {
                    let room = words_of_mut(sender.block().map_err(trouble)?)?;
                    let words = room.len().min(((size - written) / 8) as usize);
                    fill(&mut room[..words], written / 8);
                    sender.send(words * 8).map_err(trouble)?;
                    written += words as u64 * 8;
                }
                sender.finish().map(drop).map_err(trouble)
            },
            move || {
                let mut tally = Tally::default();
                while let Some(bytes) = receiver.next_block().map_err(trouble)? {
                    tally.add(words_of(bytes)?);
                }
                tally.answer()
            },
        )?;
        Ok(Measured::pipe(took, size, answer))
    }
}
