//! Hostile surroundings: what happens to a process with streams when the world around it is unkind.
//!
//! Each scenario runs in a child process of its own, for each trap and mover it concerns, and the parent looks at how
//! the child ended: exit status or signal, and what it wrote. A child that does not end is killed and has failed:
//! "nothing hangs" is the first thing tested here.
//!
//! ```text
//! cargo test -p eagre-mem --test hostile              all of them
//! cargo test -p eagre-mem --test hostile -- fork      those with `fork` in their name
//! cargo test -p eagre-mem --test hostile -- --skip fork   the others
//! EAGRE_TEST_SYSCTL=1 … hostile                       also those that change a setting of the machine (root)
//! ```
//! Run it as root and as an ordinary user: privilege decides which traps there are.
//!
//! Nothing sleeps to let another thread get somewhere: a child looks at the wait report, or at the counts of its
//! streams, until the state it needs is reached.

#[path = "../common/arguments.rs"]
mod arguments;
mod asked;
mod closed;
mod crash;
mod failing;
mod fork;
mod frame;
mod guards;
mod handlers;
mod limits;
mod machine;
mod mapping;
mod parked;
mod signals;
mod stacks;
mod taken;
mod tools;
mod util;

fn main() {
    frame::main(&[
        asked::SCENARIOS,
        crash::SCENARIOS,
        closed::SCENARIOS,
        failing::SCENARIOS,
        guards::SCENARIOS,
        handlers::SCENARIOS,
        fork::SCENARIOS,
        signals::SCENARIOS,
        stacks::SCENARIOS,
        parked::SCENARIOS,
        limits::SCENARIOS,
        machine::SCENARIOS,
        mapping::SCENARIOS,
        tools::SCENARIOS,
    ]);
}
