//! The library was built without streams between hosts: nothing of them can be made.

use super::{Carried, Wanted};
use crate::status::{EagreStatus, Fault};
use eagre::{Reader, Writer};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub(crate) enum Options {}
pub(crate) enum Connector {}
pub(crate) enum Listener {}
pub(crate) enum Offer {}
pub(crate) enum Transfer {}
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

    pub(crate) fn send_from(&self, _: &str, _: Reader) -> Result<Transfer, Fault> {
        match *self {}
    }

    pub(crate) fn receive_into(&self, _: &str, _: Writer) -> Result<Transfer, Fault> {
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

    pub(crate) fn accept(&self, _: Option<Duration>) -> Result<Offer, Fault> {
        match *self {}
    }

    pub(crate) fn offer(&self, _: &str, _: bool, _: Option<Duration>) -> Result<Offer, Fault> {
        match *self {}
    }
}

impl Offer {
    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn peer(&self) -> String {
        match *self {}
    }

    pub(crate) fn peer_writes(&self) -> bool {
        match *self {}
    }

    pub(crate) fn writer(self) -> Result<NetworkWriter, Fault> {
        match self {}
    }

    pub(crate) fn reader(self) -> Result<NetworkReader, Fault> {
        match self {}
    }

    pub(crate) fn send_from(self, _: Reader) -> Result<Transfer, Fault> {
        match self {}
    }

    pub(crate) fn receive_into(self, _: Writer) -> Result<Transfer, Fault> {
        match self {}
    }

    pub(crate) fn refuse(self, _: &str) {
        match self {}
    }
}

impl Transfer {
    pub(crate) fn join(self) -> Result<Carried, Fault> {
        match self {}
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
