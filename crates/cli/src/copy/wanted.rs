//! The sources and targets that the arguments name, by the rules of `cp`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use eagre::copy;

use super::Args;
use crate::exit::Failure;
use crate::message::Message;
use crate::name;

/// What the arguments ask for.
#[derive(Debug)]
pub(super) enum Wanted {
    /// One file or stream, and its target.
    Single { source: OsString, target: OsString },
    /// Sources and their targets.
    Several(Vec<(PathBuf, PathBuf)>),
}

fn trouble(place: &OsStr, why: &str, cure: &str) -> Failure {
    use std::os::unix::ffi::OsStrExt;
    let place = name::in_messages(place.as_bytes());
    Failure::Trouble(Message::new("copy", place, why).cure(Some(cure)).to_string())
}

impl Args {
    pub(super) fn wanted(&self) -> Result<Wanted, Failure> {
        let (sources, target, into) = self.split()?;
        let stream = |argument: &OsStr| argument == OsStr::new("-");
        let single = sources.len() == 1 && !self.recursive && !self.no_clobber;
        if sources.len() == 1 && (stream(target) && !into || stream(&sources[0])) {
            // Standard input has no name for the copy in a directory.
            if into {
                return Err(trouble(target, "Is a directory", "name a file in it"));
            }
            if self.recursive && Path::new(&sources[0]).is_dir() {
                return Err(trouble(&sources[0], "a directory cannot go to standard output", "name a directory"));
            }
            if self.no_clobber && !stream(target) && Path::new(target).symlink_metadata().is_ok() {
                return Ok(Wanted::Several(Vec::new()));
            }
            return Ok(Wanted::Single { source: sources[0].clone(), target: target.to_owned() });
        }
        if let Some(dash) = sources.iter().find(|source| stream(source)) {
            return Err(trouble(dash, "standard input has no name for the copy in a directory", "name a file in it"));
        }
        let to = Path::new(target);
        if into && !to.is_dir() {
            return Err(trouble(target, "not a directory", "create it first"));
        }
        let place = |source: &OsString| match into {
            true => copy::target_in(source.as_ref(), to),
            false if self.no_target_directory => to.to_owned(),
            false => copy::target(source.as_ref(), to),
        };
        if single {
            let target = place(&sources[0]).into_os_string();
            return Ok(Wanted::Single { source: sources[0].clone(), target });
        }
        Ok(Wanted::Several(sources.iter().map(|source| (source.into(), place(source))).collect()))
    }

    /// The sources, the target, and whether the copies go into the target.
    fn split(&self) -> Result<(&[OsString], &OsStr, bool), Failure> {
        if let Some(directory) = &self.target_directory {
            return Ok((&self.paths, directory, true));
        }
        let usage = |why: &str| {
            let message = Message::new("usage", "copy", why).cure(Some("see 'eagre copy --help'"));
            Err(Failure::Trouble(message.to_string()))
        };
        match self.paths.split_last() {
            Some((target, sources)) if !sources.is_empty() => {
                if sources.len() > 1 && self.no_target_directory {
                    return usage("with -T, there can be only one source");
                }
                Ok((sources, target, sources.len() > 1))
            }
            _ => usage("the target is missing"),
        }
    }
}
