//! The library was built without streams between hosts: nothing of them can be made.

use super::Wanted;
use crate::status::{EagreStatus, Fault};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub(crate) enum Options {}
pub(crate) enum Connector {}
pub(crate) enum Listener {}
pub(crate) enum NetworkWriter {}
pub(crate) enum NetworkReader {}

impl Options {
    pub(crate) fn new(_: Wanted<'_>) -> Result<Options, Fault> {
        let text = "this library was built without streams between hosts; build it with its feature 'network'";
        Err(Fault::new(EagreStatus::EagreUnavailable, text))
    }
}

impl Connector {
    pub(crate) fn new(_: &str, options: Options) -> Result<Connector, Fault> {
        match options {}
    }

    pub(crate) fn writer(&self, _: &str) -> Result<NetworkWriter, Fault> {
        match *self {}
    }

    pub(crate) fn reader(&self, _: &str) -> Result<NetworkReader, Fault> {
        match *self {}
    }
}

impl Listener {
    pub(crate) fn bind(_: &str, options: Options) -> Result<Listener, Fault> {
        match options {}
    }

    pub(crate) fn address(&self) -> String {
        match *self {}
    }

    pub(crate) fn writer(&self, _: &str, _: Option<Duration>) -> Result<NetworkWriter, Fault> {
        match *self {}
    }

    pub(crate) fn reader(&self, _: &str, _: Option<Duration>) -> Result<NetworkReader, Fault> {
        match *self {}
    }
}

impl NetworkWriter {
    pub(crate) fn finish_at(self, _: u64) -> Result<(), Fault> {
        match self {}
    }
}

impl NetworkReader {
    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self {}
    }
}

impl Deref for NetworkWriter {
    type Target = eagre::Writer;
    fn deref(&self) -> &eagre::Writer {
        match *self {}
    }
}

impl DerefMut for NetworkWriter {
    fn deref_mut(&mut self) -> &mut eagre::Writer {
        match *self {}
    }
}

impl Deref for NetworkReader {
    type Target = eagre::Reader;
    fn deref(&self) -> &eagre::Reader {
        match *self {}
    }
}

impl DerefMut for NetworkReader {
    fn deref_mut(&mut self) -> &mut eagre::Reader {
        match *self {}
    }
}
