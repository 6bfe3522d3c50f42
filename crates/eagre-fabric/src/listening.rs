//! Waiting for the one who has the offer.

use std::net::{IpAddr, SocketAddr};
use std::ptr;
use std::time::Instant;

use crate::abi::{self, FidPep};
use crate::card::{Card, close};
use crate::end::{End, empty, late, socket_address};
use crate::error::FabricError;
use crate::library::Fabric;
use crate::offer::TOKEN;
use crate::provider::Provider;

/// An end that others connect to.
pub(crate) struct Listening {
    passive: *mut FidPep,
    card: Option<Card>,
}

// SAFETY: as for the card.
unsafe impl Send for Listening {}

impl Listening {
    /// Listens at an address of this host, at any port.
    pub(crate) fn open(library: &Fabric, provider: Provider, address: IpAddr) -> Result<Listening, FabricError> {
        let infos = library.interfaces(provider, &address.to_string(), "0", abi::SOURCE)?;
        let card = Card::open(library, provider, infos)?;
        let mut passive = ptr::null_mut();
        let (fabric, events, info) = (card.fabric, card.events, card.infos.first);
        // SAFETY: everything is open; the passive end is closed before the card.
        let (listening, code) = unsafe {
            let mut code = ((*(*fabric).ops).passive_ep)(fabric, info, &raw mut passive, ptr::null_mut());
            let listening = Listening { passive, card: Some(card) };
            if code == 0 {
                code = ((*(*passive).fid.ops).bind)(passive.cast(), events.cast(), 0);
            }
            if code == 0 {
                code = ((*(*passive).cm).listen)(passive);
            }
            (listening, code)
        };
        if code == 0 { Ok(listening) } else { Err(library.refused("fi_listen", code)) }
    }

    pub(crate) fn card(&self) -> &Card {
        self.card.as_ref().expect("it is taken at the end only")
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> Result<SocketAddr, FabricError> {
        // SAFETY: the passive end is open.
        unsafe { socket_address(self.passive, self.card()) }
    }

    /// Waits for the one who knows the token. Others are turned away.
    pub(crate) fn accept(
        mut self,
        token: &[u8; TOKEN],
        busy: bool,
        deadline: Instant,
        given_up: &dyn Fn() -> bool,
    ) -> Result<End, FabricError> {
        while Instant::now() < deadline && !given_up() {
            let mut entry = empty();
            // A caller that gave up is no trouble of ours.
            let Ok(Some((abi::CONNREQ, len))) = self.card().event(&mut entry, true) else { continue };
            let asked = self.card().library.adopt(entry.info);
            // All of it is compared, however early it differs.
            let said = entry.data.get(..len).unwrap_or(&entry.data);
            let knows = said.len() >= token.len()
                && said.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0;
            if !knows {
                // SAFETY: the request is the library's, and answered once.
                unsafe { ((*(*self.passive).cm).reject)(self.passive, (*asked.first).handle, ptr::null(), 0) };
                continue;
            }
            let (object, rooms) = End::parts(self.card(), asked.first)?;
            // SAFETY: nobody else shall connect; the passive end is not used any more.
            unsafe { close(std::mem::replace(&mut self.passive, ptr::null_mut())) };
            let end = End::of_parts(self.card.take().expect("it is still there"), object, rooms, busy)?;
            end.accept()?;
            end.connected(deadline, given_up)?;
            return Ok(end);
        }
        Err(late("nobody connected to the ring"))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // SAFETY: it is null or open, and not used any more.
        unsafe { close(self.passive) };
    }
}
