//! Profiles that are kept, each in a file of the user's cache directory.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::identity::{self, Identity};
use super::profile::{Profile, now};
use super::text;
use crate::file::Output;
use crate::file::failure::Task;

/// How long a kept profile counts: 30 days. Disks fill up and age.
pub const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// No profile is longer.
const LONGEST: u64 = 1 << 20;

impl Profile {
    /// The profile that was kept for the file system of `directory`. `None` if there is none, if it is older than
    /// [`LIFETIME`] or was taken under another kernel, or if the file is damaged or from another version.
    ///
    /// # Errors
    /// Those of the system for `directory`. A kept profile that cannot be read counts as none.
    pub fn load(directory: &Path) -> io::Result<Option<Profile>> {
        let identity = Identity::of(directory).map_err(|error| Task::of("measure", directory).error(&error))?;
        Ok(place().and_then(|place| load_from(&place, &identity)))
    }

    /// Keeps this profile for [`Profile::load`], in `$XDG_CACHE_HOME/eagre` or `~/.cache/eagre`. Only the user can read
    /// it. Returns the name of the file; `None`, and nothing is kept, if the environment names no home, or if the
    /// profile is that of an emulated device.
    ///
    /// # Errors
    /// Those of the system, with the name of the file.
    pub fn save(&self) -> io::Result<Option<PathBuf>> {
        match place() {
            Some(place) if self.emulated.is_none() => {
                save_to(&place, self).map_err(|error| Task::of("keep the profile", &place).error(&error)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The directory for profiles, by the rules of the XDG base directories: names that are not absolute do not count.
fn place() -> Option<PathBuf> {
    place_of(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

fn place_of(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: Option<OsString>| name.map(PathBuf::from).filter(|name| name.is_absolute());
    let cache = absolute(cache).or_else(|| absolute(home).map(|home| home.join(".cache")))?;
    Some(cache.join("eagre"))
}

fn file_of(place: &Path, identity: &Identity) -> PathBuf {
    place.join(format!("device-{}", identity.key()))
}

pub(super) fn load_from(place: &Path, identity: &Identity) -> Option<Profile> {
    let mut kept = String::new();
    let file = fs::File::open(file_of(place, identity)).ok()?;
    file.take(LONGEST).read_to_string(&mut kept).ok()?;
    let profile = text::parse(&kept)?;
    let counts = profile.identity.is_same_device(identity)
        && profile.kernel == identity::kernel()
        && profile.age() < LIFETIME
        // A profile from the future was taken while the clock was wrong, and would never become old.
        && profile.taken <= now();
    counts.then_some(profile)
}

pub(super) fn save_to(place: &Path, profile: &Profile) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    let path = file_of(place, &profile.identity);
    let mut output = Output::create(&path)?;
    output.set_mode(0o600);
    output.file().write_all(profile.to_string().as_bytes())?;
    output.commit()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_directory_is_absolute() {
        let of = |cache: Option<&str>, home: Option<&str>| place_of(cache.map(Into::into), home.map(Into::into));
        assert_eq!(of(Some("/c"), Some("/h")), Some("/c/eagre".into()));
        assert_eq!(of(Some("c"), Some("/h")), Some("/h/.cache/eagre".into()));
        assert_eq!(of(Some(""), Some("/h")), Some("/h/.cache/eagre".into()));
        assert_eq!(of(None, Some("h")), None);
        assert_eq!(of(None, None), None);
    }
}
