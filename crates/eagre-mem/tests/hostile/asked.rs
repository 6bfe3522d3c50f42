//! What the command line asks for is what this program runs: a filter that it misunderstood would test nothing, and pass.

use super::frame::{Ends, For, Scenario};
use std::collections::BTreeSet;
use std::process::{Command, Output};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("asked::as_the_standard_harness_is", For::Once, Ends::Well, as_the_standard_harness_is)];

/// This program, as a user starts it.
fn program(arguments: &[&str]) -> Output {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(arguments).env_remove("EAGRE_CHILD").output().unwrap()
}

fn listed(arguments: &[&str]) -> BTreeSet<String> {
    let output = program(&[arguments, &["--list"]].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn as_the_standard_harness_is() {
    let all = listed(&[]);
    let those =
        |choose: fn(&str) -> bool| -> BTreeSet<String> { all.iter().filter(|name| choose(name)).cloned().collect() };
    assert!(all.len() > 50);
    // What ./dev asks for where there is nothing of the name.
    assert_eq!(listed(&["--skip", "sort::"]), all);
    assert_eq!(listed(&["--skip", "fork"]), those(|name| !name.contains("fork")));
    assert_eq!(
        listed(&["--skip=fork", "--nocapture", "closed"]),
        those(|name| name.contains("closed") && !name.contains("fork"))
    );
    assert_eq!(listed(&["fork", "--test-threads=1"]), those(|name| name.contains("fork")));
    assert_eq!(listed(&["fork", "--test-threads", "1"]), those(|name| name.contains("fork")));
    assert_eq!(listed(&["--exact", "tools::qemu"]), BTreeSet::from(["tools::qemu: test".to_owned()]));
    for nothing in [&["no such scenario"][..], &["tools::qemu", "--skip", "qemu"], &["--exact", "tools::"]] {
        let output = program(nothing);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(101) && said.contains("no test is called so"), "{nothing:?}: {said}");
    }
    let output = program(&["--exact", "tools::an_explicit_flow", "--skip", "sort::"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("running 1 tests") && told.contains("1 passed"), "{told}");
}
