//! Every test that makes a file makes it in both ways: without a name, and with a hidden one.

use super::super::rights::ACL;
use super::*;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn entries(directory: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

fn both(test: impl Fn(&Path, &dyn Fn(&Path) -> io::Result<Output>)) {
    for without_name in [true, false] {
        let room = tempfile::tempdir().unwrap();
        test(room.path(), &|path| Output::create_as(path, without_name));
    }
}

fn put(output: io::Result<Output>, text: &str) {
    let output = output.unwrap();
    output.file().write_all(text.as_bytes()).unwrap();
    output.commit().unwrap();
}

#[test]
fn a_new_file_appears_when_it_is_complete() {
    both(|room, create| {
        let path = room.join("new");
        let output = create(&path).unwrap();
        output.file().write_all(b"half").unwrap();
        assert!(!path.exists());
        output.file().write_all(b" and half").unwrap();
        output.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "half and half");
        assert_eq!(entries(room), ["new"]);
        // Compare with a new file of the standard library.
        let plain = File::create(room.join("plain")).unwrap().metadata().unwrap().mode();
        assert_eq!(std::fs::metadata(&path).unwrap().mode(), plain);
    });
}

#[test]
fn without_commit_nothing_has_happened() {
    both(|room, create| {
        let old = room.join("old");
        std::fs::write(&old, "old").unwrap();
        for path in [&old, &room.join("new")] {
            create(path).unwrap().file().write_all(b"other").unwrap();
        }
        assert_eq!(entries(room), ["old"]);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    });
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner() {
    both(|room, create| {
        let path = room.join("file");
        std::fs::write(&path, "a long old text").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o641)).unwrap();
        let root = rustix::process::geteuid().is_root();
        if root {
            std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
        }
        let before = std::fs::metadata(&path).unwrap();
        put(create(&path), "new");
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino());
        assert_eq!(entries(room), ["file"]);
    });
}

/// An access control list as the kernel stores it: a user is named, and the group that owns the file may do nothing.
fn list(named_user: u32) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let entries = [(0x01, 6, NOBODY), (0x02, 6, named_user), (0x04, 0, NOBODY), (0x10, 6, NOBODY), (0x20, 0, NOBODY)];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
}

/// Gives a file or directory an access control list. Prints why and returns `None` if that is not supported.
fn set_list(path: &Path, name: &str) -> Option<Vec<u8>> {
    match fs::setxattr(path, name, &list(4321), fs::XattrFlags::empty()) {
        Ok(()) => Some(list(4321)),
        Err(error) => {
            eprintln!("skipped: access control lists: {error}");
            None
        }
    }
}

fn list_of(path: &Path) -> Option<Vec<u8>> {
    let mut list = vec![0; 4096];
    let length = fs::getxattr(path, ACL, &mut list[..]).ok()?;
    list.truncate(length);
    Some(list)
}

#[test]
fn a_file_that_is_replaced_keeps_its_access_control_list() {
    both(|room, create| {
        let path = room.join("file");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let Some(list) = set_list(&path, ACL) else { return };
        // The mode says that the group may write; the list says that it may not.
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        put(create(&path), "new");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert_eq!(list_of(&path), Some(list));
    });
}

/// Attributes are kept as if a program wrote into the existing file. What the kernel removes from a written file is not
/// kept.
#[test]
fn a_file_that_is_replaced_keeps_its_notes() {
    both(|room, create| {
        let path = room.join("file");
        std::fs::write(&path, "old").unwrap();
        if let Err(error) = fs::setxattr(&path, "user.note", b"kept", fs::XattrFlags::empty()) {
            eprintln!("skipped: no extended attributes here: {error}");
            return;
        }
        put(create(&path), "new");
        let mut value = [0; 16];
        assert_eq!(fs::getxattr(&path, "user.note", &mut value[..]), Ok(4));
        assert_eq!(&value[..4], b"kept");
        // "cap_net_raw=ep", if that is permitted.
        let capability: Vec<u8> =
            [0x0200_0001u32, 1 << 13, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        if fs::setxattr(&path, "security.capability", &capability, fs::XattrFlags::empty()).is_ok() {
            put(create(&path), "newer");
            assert_eq!(fs::getxattr(&path, "security.capability", &mut value[..]), Err(Errno::NODATA));
        }
    });
}

#[cfg(feature = "copy")]
#[test]
fn what_must_be_new_replaces_nothing() {
    both(|room, create| {
        let path = room.join("file");
        let mut output = create(&path).unwrap();
        output.must_be_new();
        std::fs::write(&path, "faster").unwrap();
        assert_eq!(output.commit().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "faster");
        assert_eq!(entries(room), ["file"]);
        std::fs::remove_file(&path).unwrap();
        let mut output = create(&path).unwrap();
        output.must_be_new();
        put(Ok(output), "new");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(entries(room), ["file"]);
    });
}

#[test]
fn a_file_without_a_list_gets_none_from_its_directory() {
    both(|room, create| {
        let path = room.join("file");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).unwrap();
        if set_list(room, "system.posix_acl_default").is_none() {
            return;
        }
        put(create(&path), "new");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert_eq!(list_of(&path), None);
    });
}

/// An invalid list simulates a file system without lists.
#[test]
fn without_its_list_a_file_gives_its_group_nothing() {
    let room = tempfile::tempdir().unwrap();
    let file = File::create(room.path().join("file")).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o664)).unwrap();
    let given = Rights::with_acl(file.metadata().unwrap(), b"odd").give_to(&file).unwrap();
    assert_eq!(given.mode & 0o7777, 0o604);
    // The loss is reported.
    assert_eq!(given.unkept.iter().map(|unkept| unkept.name.to_str()).collect::<Vec<_>>(), [Some(ACL)]);
}

#[test]
fn links_are_followed_to_the_file_they_mean() {
    both(|room, create| {
        std::fs::create_dir(room.join("far")).unwrap();
        symlink("far/link", room.join("near")).unwrap();
        symlink("file", room.join("far/link")).unwrap();
        for text in ["made through the links", "replaced through them"] {
            put(create(&room.join("near")), text);
            assert_eq!(std::fs::read_to_string(room.join("far/file")).unwrap(), text);
        }
        assert!(room.join("near").is_symlink() && room.join("far/link").is_symlink());
        assert_eq!(entries(&room.join("far")), ["file", "link"]);
        symlink("around", room.join("around")).unwrap();
        assert_eq!(create(&room.join("around")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    });
}

#[test]
fn what_appeared_meanwhile_is_replaced() {
    both(|room, create| {
        let path = room.join("file");
        let output = create(&path).unwrap();
        std::fs::write(&path, "faster").unwrap();
        put(Ok(output), "slower");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "slower");
        assert_eq!(entries(room), ["file"]);
    });
}

#[test]
fn what_cannot_be_replaced_is_written_as_it_is() {
    let full = Output::create("/dev/full").unwrap();
    assert!(full.is_direct());
    assert_eq!(full.file().write(b"x").unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    put(Output::create("/dev/null"), "away");

    let room = tempfile::tempdir().unwrap();
    let pipe = room.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reading = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe)
    });
    put(Output::create(&pipe), "through");
    assert_eq!(reading.join().unwrap().unwrap(), "through");
}

/// The file that was seen is opened, or none: a file that another program puts in the place of a pipe keeps its
/// contents.
#[test]
fn what_takes_the_place_of_a_pipe_is_not_written() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    for pipe in ["pipe", "other"] {
        assert!(std::process::Command::new("mkfifo").arg(path(pipe)).status().unwrap().success());
    }
    let seen = std::fs::symlink_metadata(path("pipe")).unwrap();
    std::fs::write(path("file"), "kept").unwrap();
    symlink("file", path("link")).unwrap();
    symlink("pipe", path("link-to-the-pipe")).unwrap();
    // A reader, so that opening does not block.
    let _readers = ["pipe", "other"]
        .map(|pipe| File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path(pipe)).unwrap());
    assert!(open_as_it_is(&path("pipe"), &seen).unwrap().is_direct());
    for other in ["file", "link", "link-to-the-pipe", "other"] {
        assert!(open_as_it_is(&path(other), &seen).is_err(), "{other}");
    }
    let null = std::fs::metadata("/dev/null").unwrap();
    assert!(open_as_it_is("/dev/null".as_ref(), &null).is_ok());
    assert!(open_as_it_is("/dev/full".as_ref(), &null).is_err());
    assert_eq!(std::fs::read_to_string(path("file")).unwrap(), "kept");
}

#[test]
fn the_name_of_an_open_file_is_that_file() {
    let room = tempfile::tempdir().unwrap();
    let mut file = File::options().read(true).write(true).create_new(true).open(room.path().join("file")).unwrap();
    file.write_all(b"what was there before").unwrap();
    let inode = file.metadata().unwrap().ino();
    put(Output::create(format!("/proc/self/fd/{}", file.as_raw_fd())), "short");
    let mut text = String::new();
    io::Seek::rewind(&mut file).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "short");
    assert_eq!(std::fs::metadata(room.path().join("file")).unwrap().ino(), inode);
}

#[test]
fn refusals() {
    let room = tempfile::tempdir().unwrap();
    let number = |path: &Path| Output::create(path).unwrap_err().raw_os_error();
    assert_eq!(number(room.path()), Some(libc::EISDIR));
    assert_eq!(number(&room.path().join("file/")), Some(libc::EISDIR));
    assert_eq!(number(&room.path().join("none/file")), Some(libc::ENOENT));
    assert_eq!(number(Path::new("")), Some(libc::ENOENT));
    if rustix::process::geteuid().is_root() {
        return eprintln!("skipped: refusals for want of permission: this is root");
    }
    let locked = room.path().join("locked");
    std::fs::write(&locked, "kept").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(number(&locked), Some(libc::EACCES));
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(number(&room.path().join("new")), Some(libc::EACCES));
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_full_disk_is_known_at_once() {
    let room = tempfile::tempdir().unwrap();
    let output = Output::create(room.path().join("huge")).unwrap();
    assert_eq!(output.check_room(1 << 60).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    output.check_room(1).unwrap();
    drop(output);
    assert_eq!(entries(room.path()), [""; 0]);
}

/// Names that somebody else chose.
#[test]
fn outputs_in_a_directory_stay_there() {
    let (room, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = File::open(room.path()).unwrap();
    std::fs::write(outside.path().join("precious"), "old").unwrap();
    symlink(outside.path().join("precious"), room.path().join("link")).unwrap();
    std::fs::create_dir(room.path().join("directory")).unwrap();
    fs::mknodat(CWD, room.path().join("pipe"), fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for name in ["", ".", "..", "../x", "/x", "a/b", "link", "directory", "pipe", "link/x"] {
        assert!(Output::create_in(&directory, name).is_err(), "{name}");
    }
    std::fs::write(room.path().join("closed"), "old").unwrap();
    std::fs::set_permissions(room.path().join("closed"), std::fs::Permissions::from_mode(0o400)).unwrap();
    for name in ["new", "closed"] {
        let mut output = Output::create_in(&directory, name).unwrap();
        output.set_mode(0o640);
        put(Ok(output), "text");
        let path = room.path().join(name);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
    }
    assert_eq!(entries(room.path()), ["closed", "directory", "link", "new", "pipe"]);
    assert_eq!(std::fs::read(outside.path().join("precious")).unwrap(), b"old");
    assert_eq!(entries(outside.path()), ["precious"]);
}
