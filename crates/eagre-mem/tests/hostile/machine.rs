//! Machines that are set up against us: strict overcommit, small control groups, no userfaultfd.
//!
//! What needs root says so and is skipped without. The one scenario that changes a setting of the whole machine runs
//! only if `EAGRE_TEST_SYSCTL` is set, and puts the setting back however it ends.

use super::frame::{Ends, For, Scenario, skip};
use super::util::*;
use eagre_mem::stream::Pipe;
use eagre_mem::{BlockSize, Pool};
use std::path::{Path, PathBuf};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("machine::strict_overcommit", For::Pointers, Ends::Well, strict_overcommit),
    Scenario::new("machine::tiny_control_group", For::Pointers, Ends::Well, tiny_group),
    Scenario::new("machine::small_control_group", For::Pointers, Ends::Well, small_group),
    Scenario::new("machine::userfaultfd_forbidden", For::Once, Ends::Well, userfaultfd_forbidden),
    Scenario::new("machine::userfaultfd_unknown", For::Once, Ends::Well, userfaultfd_unknown),
    Scenario::new("machine::pager_asked_for_in_vain", For::Once, Ends::Well, pager_in_vain),
];

const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// With mode 2 every writable private page counts as memory in use, touched or not.
fn strict_overcommit() {
    if std::env::var_os("EAGRE_TEST_SYSCTL").is_none_or(|value| value != "1") {
        skip("changes vm.overcommit_memory: set EAGRE_TEST_SYSCTL=1 as root");
    }
    let before = std::fs::read_to_string(OVERCOMMIT).unwrap();
    if !is_root() {
        skip("only root may change vm.overcommit_memory");
    }
    let already = before.trim() == "2";
    if !already {
        put_back_when_this_ends(before.clone());
        if std::fs::write(OVERCOMMIT, "2").is_err() {
            skip("vm.overcommit_memory cannot be changed here");
        }
    }
    let child = fork(|| {
        end_if_it_hangs();
        streams_work();
        flow_through(Pipe::open().unwrap().split(), 64 << 17);
        let many: Vec<_> = (0..3).map(|_| Pipe::open().unwrap()).collect();
        many.into_iter().for_each(|pipe| flow_through(pipe.split(), 1 << 20));
        // What is left is enough for the program itself.
        i32::from(!vec![1u8; 64 << 20].iter().all(|&byte| byte == 1))
    });
    let status = wait_for(child);
    if !already {
        std::fs::write(OVERCOMMIT, before).unwrap();
    }
    assert_eq!(status, 0, "{status:#x}");
}

/// Starts a process that outlives this one, however it ends, and then puts the setting back.
fn put_back_when_this_ends(value: String) {
    let mut pipe = [0; 2];
    // SAFETY: the array takes two descriptors.
    assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    let [read, write] = pipe;
    fork(|| {
        // SAFETY: out of the group that the watchdog kills; the pipe ends with the last process that may have written,
        // and then the read returns. The standard streams are closed for the parent not to wait for them.
        unsafe {
            libc::setsid();
            libc::close(write);
            for stream in 0..3 {
                libc::close(stream);
            }
            let mut byte = 0u8;
            while libc::read(read, (&raw mut byte).cast(), 1) < 0 {}
        }
        i32::from(std::fs::write(OVERCOMMIT, value).is_err())
    });
}

/// A control group of our own, removed on drop.
struct Group(PathBuf);

impl Group {
    /// A group with a limit of `bytes` of memory, of whichever version there is.
    fn new(bytes: u64) -> Group {
        let name = format!("eagre-hostile-{}", std::process::id());
        let made = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        for (root, file) in made {
            let group = Group(Path::new(root).join(&name));
            if std::fs::create_dir(&group.0).is_err() {
                continue;
            }
            if std::fs::write(group.0.join(file), bytes.to_string()).is_ok() {
                return group;
            }
        }
        skip("no control group with a memory limit can be made here (needs root)")
    }

    fn enter(&self) -> bool {
        std::fs::write(self.0.join("cgroup.procs"), std::process::id().to_string()).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A group that cannot hold the blocks of one stream: an error when it is opened, and not a program that runs against
/// throw-away pages for half a minute. Smaller blocks work.
fn tiny_group() {
    let group = Group::new(8 << 20);
    let child = fork(|| {
        end_if_it_hangs();
        if !group.enter() {
            return 3;
        }
        let error = Pipe::open().unwrap_err().to_string();
        let says =
            ["needs 5 blocks of 2 MiB", "has 2 (4 MiB in all)", "; raise EAGRE_POOL or the control group's limit"];
        if !says.iter().all(|words| error.contains(words)) {
            say(&error);
            return 1;
        }
        streams_work();
        0
    });
    let status = wait_for(child);
    drop(group);
    if status == 3 << 8 {
        skip("this process may not enter a control group");
    }
    assert_eq!(status, 0, "{status:#x}");
}

/// 2 GiB through 64 MiB: blocks, page tables and all.
fn small_group() {
    let group = Group::new(64 << 20);
    let child = fork(|| {
        end_if_it_hangs();
        if !group.enter() {
            return 3;
        }
        let budget = |pool: &Pool| u64::from(pool.stats().budget) * pool.block_size().bytes() as u64;
        assert!(budget(&Pool::new(BlockSize::DEFAULT, 4, None, None).unwrap()) == 8 << 20);
        const LENGTH: usize = 2 << 30;
        let (mut writer, mut reader) = Pipe::open().unwrap().split();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let step = 4096;
                let write = |to: *mut u8| {
                    // SAFETY: ascending stores within the capacity.
                    (0..LENGTH / step).for_each(|at| unsafe { to.add(at * step).cast::<u64>().write(word(at)) });
                };
                writer.scope(write).unwrap();
                writer.finish_at(LENGTH as u64).unwrap();
            });
            let read = |from: *const u8| {
                // SAFETY: ascending loads within the length.
                (0..LENGTH / 4096).all(|at| unsafe { from.add(at * 4096).cast::<u64>().read() } == word(at))
            };
            assert!(reader.scope(read).unwrap());
        });
        // More than the group has, asked for in streams that all hold on to what they got: refused, and not killed.
        let mut greedy = Vec::new();
        let refused = (0..40).any(|_| {
            let (mut writer, reader) = Pipe::open().unwrap().split();
            let refused = writer.copy_in(&[1; 1000]).is_err();
            greedy.push((writer, reader));
            refused
        });
        i32::from(!refused)
    });
    let status = wait_for(child);
    drop(group);
    if status == 3 << 8 {
        skip("this process may not enter a control group");
    }
    assert_eq!(status, 0, "{status:#x}");
}

/// Makes userfaultfd(2) fail with `errno`, and /dev/userfaultfd unreachable, from here on.
fn without_userfaultfd(errno: i32) {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};
    let step = |code: u32, k: u32, jt: u8, jf: u8| sock_filter { code: code as u16, jt, jf, k };
    // The device's request is refused as well: an ioctl of the number USERFAULTFD_IOC_NEW.
    let refused = libc::SECCOMP_RET_ERRNO | errno as u32;
    let mut program = [
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, libc::SYS_userfaultfd as u32, 4, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, libc::SYS_ioctl as u32, 0, 2),
        // The low half of the second argument.
        step(BPF_LD | BPF_W | BPF_ABS, 24, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0xAA << 8, 1, 0),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(BPF_RET | BPF_K, refused, 0, 0),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter is a valid program for as long as the call takes.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) != 0 {
            skip(&format!("no seccomp filters here: {}", std::io::Error::last_os_error()));
        }
    }
}

fn falls_back() {
    let pipe = Pipe::open().unwrap();
    assert_eq!(format!("{} + {}", pipe.trap(), pipe.mover()), "signal + remap");
    flow_through(pipe.split(), 16 << 17);
    streams_work();
    for status in eagre_mem::probe::examine() {
        let moves = status.pair.mover == eagre_mem::Mover::Move;
        assert_eq!(status.refusal.is_some(), moves, "{status:?}");
        assert_eq!(status.cure.is_some(), moves, "{status:?}");
    }
}

/// As in a container with Docker's default profile.
fn userfaultfd_forbidden() {
    without_userfaultfd(libc::EPERM);
    falls_back();
}

/// As on a kernel built without.
fn userfaultfd_unknown() {
    without_userfaultfd(libc::ENOSYS);
    falls_back();
}

fn pager_in_vain() {
    without_userfaultfd(libc::EPERM);
    let error = Pipe::builder().trap(eagre_mem::Trap::Pager).open().unwrap_err().to_string();
    assert!(error.contains("permission") && error.contains("doctor") && !error.contains('\n'), "{error}");
}
