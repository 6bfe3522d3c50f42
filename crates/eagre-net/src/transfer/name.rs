//! Names and links that come from the other side. None of them leads out of the directory that receives.
#![forbid(unsafe_code)]

/// The most bytes of a name in a directory.
pub(super) const LONGEST_NAME: usize = 255;
/// The most bytes that a symbolic link may hold.
pub(super) const LONGEST_LINK: usize = 4095;
/// The most directories inside each other.
pub(super) const DEEPEST: usize = 256;

/// What the names of unfinished files end in.
pub(super) const PART: &[u8] = b".eagre-part";

/// Checks that `name` is the name of something in a directory, and nothing else.
///
/// # Errors
/// Why it is not.
pub(super) fn check(name: &[u8]) -> Result<(), &'static str> {
    match name {
        b"" => Err("a name is empty"),
        b"." | b".." => Err("a name leads to another directory"),
        _ if name.len() > LONGEST_NAME => Err("a name is longer than 255 bytes"),
        _ if name.contains(&b'/') => Err("a name leads to another directory"),
        _ if name.contains(&0) => Err("a name has a zero byte"),
        _ if is_part(name) => Err("a name is that of an unfinished file"),
        _ => Ok(()),
    }
}

/// Whether this is the name of an unfinished file.
pub(super) fn is_part(name: &[u8]) -> bool {
    name.starts_with(b".") && name.ends_with(PART)
}

/// The name of the unfinished file that will be `name`.
pub(super) fn part_of(name: &[u8]) -> Vec<u8> {
    let hidden = [b".", name, PART].concat();
    if hidden.len() <= LONGEST_NAME {
        return hidden;
    }
    let short = blake3::hash(name).to_hex();
    [b".", short.as_bytes(), PART].concat()
}

/// Checks that a symbolic link, `depth` directories below the top, leads to something below the top.
///
/// Only its first steps may go up, and no further than to the top: a step up behind a name would go up from where another link
/// leads.
///
/// # Errors
/// Why it does not.
pub(super) fn check_link(to: &[u8], depth: usize) -> Result<(), &'static str> {
    if to.is_empty() || to.len() > LONGEST_LINK || to.contains(&0) {
        return Err("a symbolic link that no system has");
    }
    if to.starts_with(b"/") {
        return Err("a symbolic link to an absolute path");
    }
    let mut steps = to.split(|&byte| byte == b'/').filter(|step| !matches!(*step, b"" | b".")).peekable();
    let mut up = 0;
    while steps.next_if(|step| *step == b"..").is_some() {
        up += 1;
    }
    if up > depth || steps.any(|step| step == b"..") {
        return Err("a symbolic link that may lead out of the directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        let long = [b'x'; 256];
        for wrong in [&b""[..], b".", b"..", b"/x", b"../x", b"x/", b"a/b", b"a\0b", b".a.eagre-part", &long] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
        for right in [&b"a"[..], b"...", b"..a", b" ", b"\xff\xfe", b"new\nline", b"a.eagre-part", &long[..255]] {
            assert_eq!(check(right), Ok(()), "{right:?}");
        }
    }

    #[test]
    fn parts_have_names_that_fit() {
        assert_eq!(part_of(b"a"), b".a.eagre-part");
        let (one, other) = (part_of(&[b'x'; 255]), part_of(&[b'y'; 255]));
        assert!(one.len() <= LONGEST_NAME && one != other && is_part(&one));
    }

    #[test]
    fn links_stay_below_the_top() {
        for (to, depth) in [(&b"a"[..], 0), (b"../a", 1), (b"./a/b", 0), (b"../../a//b", 2), (b"..", 1), (b".", 0)] {
            assert_eq!(check_link(to, depth), Ok(()), "{to:?}");
        }
        let long = [b'x'; 4096];
        for (to, depth) in [
            (&b""[..], 3),
            (b"/", 3),
            (b"/etc", 3),
            (b"..", 0),
            (b"../../a", 1),
            // The directory a may itself be a link to the top.
            (b"a/..", 3),
            (b"../a/../b", 3),
            (b"a\0", 0),
            (&long, 3),
        ] {
            assert!(check_link(to, depth).is_err(), "{to:?}");
        }
    }
}
