//! The structures of libfabric 1.x that are used, as `rdma/*.h` have them in symbol version `FABRIC_1.3`.
//!
//! libfabric keeps what a version of its symbols means: the functions are looked up in that version, so a newer library fills
//! these structures and no longer ones. Members that are not used are there for their room, as `Unused`. The tables of calls
//! begin with their size and only grow at their end; nothing behind what is declared here is called.
#![allow(dead_code, reason = "members that are not used are there for their room")]

use std::ffi::{c_char, c_int, c_void};

type Unused = *const c_void;

/// The version that is asked for: what providers do with members that came later.
pub(crate) const VERSION: u32 = 1 << 16 | 14;

pub(crate) const MSG: u64 = 1 << 1;
pub(crate) const RMA: u64 = 1 << 2;
pub(crate) const WRITE: u64 = 1 << 9;
pub(crate) const RECV: u64 = 1 << 10;
pub(crate) const SEND: u64 = 1 << 11;
pub(crate) const REMOTE_WRITE: u64 = 1 << 13;
pub(crate) const REMOTE_CQ_DATA: u64 = 1 << 17;
pub(crate) const NUMERICHOST: u64 = 1 << 55;
pub(crate) const SOURCE: u64 = 1 << 57;

pub(crate) const MR_LOCAL: c_int = 1 << 2;
pub(crate) const MR_VIRT_ADDR: c_int = 1 << 4;
pub(crate) const MR_ALLOCATED: c_int = 1 << 5;
pub(crate) const MR_PROV_KEY: c_int = 1 << 6;

/// `FI_ORDER_WAW`: writes arrive in the order in which they were made.
pub(crate) const ORDER_WAW: u64 = 1 << 4;
/// `FI_RX_CQ_DATA`: the numbers that come with writes may take the rooms that were given for messages.
pub(crate) const RX_CQ_DATA: u64 = 1 << 56;
pub(crate) const EP_MSG: c_int = 1;
pub(crate) const EP_RDM: c_int = 3;
pub(crate) const AV_TABLE: c_int = 2;
pub(crate) const THREAD_DOMAIN: c_int = 3;
pub(crate) const CQ_FORMAT_DATA: c_int = 3;
pub(crate) const WAIT_NONE: c_int = 0;
pub(crate) const WAIT_UNSPEC: c_int = 1;
pub(crate) const ENABLE: c_int = 6;

pub(crate) const CONNREQ: u32 = 1;
pub(crate) const CONNECTED: u32 = 2;
pub(crate) const SHUTDOWN: u32 = 3;

/// `FI_EAVAIL`: an error entry is at the head of a queue.
pub(crate) const EAVAIL: i64 = 259;

#[repr(C)]
pub(crate) struct Info {
    pub(crate) next: *mut Info,
    pub(crate) caps: u64,
    pub(crate) mode: u64,
    pub(crate) addr_format: u32,
    pub(crate) src_addrlen: usize,
    pub(crate) dest_addrlen: usize,
    pub(crate) src_addr: *mut c_void,
    pub(crate) dest_addr: *mut c_void,
    pub(crate) handle: *mut Fid,
    pub(crate) tx_attr: *mut TxAttr,
    pub(crate) rx_attr: *mut c_void,
    pub(crate) ep_attr: *mut EpAttr,
    pub(crate) domain_attr: *mut DomainAttr,
    pub(crate) fabric_attr: *mut FabricAttr,
    pub(crate) nic: *mut c_void,
}

/// The beginning of `fi_tx_attr`; the library makes it.
#[repr(C)]
pub(crate) struct TxAttr {
    pub(crate) caps: u64,
    pub(crate) mode: u64,
    pub(crate) op_flags: u64,
    pub(crate) msg_order: u64,
    pub(crate) comp_order: u64,
    pub(crate) inject_size: usize,
    pub(crate) size: usize,
}

/// The beginning of `fi_ep_attr`; the library makes it.
#[repr(C)]
pub(crate) struct EpAttr {
    pub(crate) kind: c_int,
    pub(crate) protocol: u32,
    pub(crate) protocol_version: u32,
    pub(crate) max_msg_size: usize,
    pub(crate) msg_prefix_size: usize,
    pub(crate) max_order_raw_size: usize,
    pub(crate) max_order_war_size: usize,
    pub(crate) max_order_waw_size: usize,
}

/// The beginning of `fi_domain_attr`; the library makes it.
#[repr(C)]
pub(crate) struct DomainAttr {
    pub(crate) domain: Unused,
    pub(crate) name: *mut c_char,
    pub(crate) threading: c_int,
    pub(crate) control_progress: c_int,
    pub(crate) data_progress: c_int,
    pub(crate) resource_mgmt: c_int,
    pub(crate) av_type: c_int,
    pub(crate) mr_mode: c_int,
    pub(crate) mr_key_size: usize,
    pub(crate) cq_data_size: usize,
}

#[repr(C)]
pub(crate) struct FabricAttr {
    pub(crate) fabric: Unused,
    pub(crate) name: *mut c_char,
    pub(crate) prov_name: *mut c_char,
    pub(crate) prov_version: u32,
    pub(crate) api_version: u32,
}

#[repr(C)]
pub(crate) struct Fid {
    pub(crate) class: usize,
    pub(crate) context: Unused,
    pub(crate) ops: *const Ops,
}

#[repr(C)]
pub(crate) struct Ops {
    pub(crate) size: usize,
    pub(crate) close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub(crate) bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub(crate) control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct FidFabric {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsFabric,
}

#[repr(C)]
pub(crate) struct OpsFabric {
    pub(crate) size: usize,
    pub(crate) domain: unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, *mut c_void) -> c_int,
    pub(crate) passive_ep: unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidPep, *mut c_void) -> c_int,
    pub(crate) eq_open: unsafe extern "C" fn(*mut FidFabric, *mut EqAttr, *mut *mut FidEq, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct FidDomain {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsDomain,
    pub(crate) mr: *const OpsMr,
}

#[repr(C)]
pub(crate) struct OpsDomain {
    pub(crate) size: usize,
    pub(crate) av_open: unsafe extern "C" fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void) -> c_int,
    pub(crate) cq_open: unsafe extern "C" fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void) -> c_int,
    pub(crate) endpoint: unsafe extern "C" fn(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct AvAttr {
    pub(crate) kind: c_int,
    pub(crate) rx_ctx_bits: c_int,
    pub(crate) count: usize,
    pub(crate) ep_per_node: usize,
    pub(crate) name: *const c_char,
    pub(crate) map_addr: *mut c_void,
    pub(crate) flags: u64,
}

#[repr(C)]
pub(crate) struct FidAv {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsAv,
}

#[repr(C)]
pub(crate) struct OpsAv {
    pub(crate) size: usize,
    pub(crate) insert: unsafe extern "C" fn(*mut FidAv, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct OpsMr {
    pub(crate) size: usize,
    #[allow(clippy::type_complexity)]
    pub(crate) reg:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct FidMr {
    pub(crate) fid: Fid,
    pub(crate) desc: *mut c_void,
    pub(crate) key: u64,
}

#[repr(C)]
pub(crate) struct FidPep {
    pub(crate) fid: Fid,
    pub(crate) ops: Unused,
    pub(crate) cm: *const OpsCm,
}

#[repr(C)]
pub(crate) struct FidEp {
    pub(crate) fid: Fid,
    pub(crate) ops: Unused,
    pub(crate) cm: *const OpsCm,
    pub(crate) msg: *const OpsMsg,
    pub(crate) rma: *const OpsRma,
}

#[repr(C)]
pub(crate) struct OpsCm {
    pub(crate) size: usize,
    pub(crate) setname: Unused,
    pub(crate) getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
    pub(crate) getpeer: Unused,
    pub(crate) connect: unsafe extern "C" fn(*mut FidEp, *const c_void, *const c_void, usize) -> c_int,
    pub(crate) listen: unsafe extern "C" fn(*mut FidPep) -> c_int,
    pub(crate) accept: unsafe extern "C" fn(*mut FidEp, *const c_void, usize) -> c_int,
    pub(crate) reject: unsafe extern "C" fn(*mut FidPep, *mut Fid, *const c_void, usize) -> c_int,
    pub(crate) shutdown: unsafe extern "C" fn(*mut FidEp, u64) -> c_int,
}

#[repr(C)]
pub(crate) struct OpsMsg {
    pub(crate) size: usize,
    pub(crate) recv: unsafe extern "C" fn(*mut FidEp, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub(crate) recvv: Unused,
    pub(crate) recvmsg: Unused,
    pub(crate) send: Unused,
    pub(crate) sendv: Unused,
    pub(crate) sendmsg: Unused,
    pub(crate) inject: unsafe extern "C" fn(*mut FidEp, *const c_void, usize, u64) -> isize,
}

#[repr(C)]
pub(crate) struct OpsRma {
    pub(crate) size: usize,
    pub(crate) read: Unused,
    pub(crate) readv: Unused,
    pub(crate) readmsg: Unused,
    pub(crate) write: Unused,
    pub(crate) writev: Unused,
    pub(crate) writemsg: Unused,
    pub(crate) inject: unsafe extern "C" fn(*mut FidEp, *const c_void, usize, u64, u64, u64) -> isize,
    #[allow(clippy::type_complexity)]
    pub(crate) writedata:
        unsafe extern "C" fn(*mut FidEp, *const c_void, usize, *mut c_void, u64, u64, u64, u64, *mut c_void) -> isize,
}

#[repr(C)]
pub(crate) struct EqAttr {
    pub(crate) size: usize,
    pub(crate) flags: u64,
    pub(crate) wait: c_int,
    pub(crate) vector: c_int,
    pub(crate) set: *mut c_void,
}

#[repr(C)]
pub(crate) struct FidEq {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsEq,
}

#[repr(C)]
pub(crate) struct OpsEq {
    pub(crate) size: usize,
    pub(crate) read: unsafe extern "C" fn(*mut FidEq, *mut u32, *mut c_void, usize, u64) -> isize,
    pub(crate) readerr: unsafe extern "C" fn(*mut FidEq, *mut EqError, u64) -> isize,
    pub(crate) write: Unused,
    pub(crate) sread: unsafe extern "C" fn(*mut FidEq, *mut u32, *mut c_void, usize, c_int, u64) -> isize,
}

#[repr(C)]
pub(crate) struct EqError {
    pub(crate) fid: *mut Fid,
    pub(crate) context: Unused,
    pub(crate) data: u64,
    pub(crate) err: c_int,
    pub(crate) prov_errno: c_int,
    pub(crate) err_data: *mut c_void,
    pub(crate) err_data_size: usize,
}

/// `fi_eq_cm_entry`, with room for the data of a connection.
#[repr(C)]
pub(crate) struct EqEntry {
    pub(crate) fid: *mut Fid,
    pub(crate) info: *mut Info,
    pub(crate) data: [u8; 64],
}

#[repr(C)]
pub(crate) struct CqAttr {
    pub(crate) size: usize,
    pub(crate) flags: u64,
    pub(crate) format: c_int,
    pub(crate) wait: c_int,
    pub(crate) vector: c_int,
    pub(crate) cond: c_int,
    pub(crate) set: *mut c_void,
}

#[repr(C)]
pub(crate) struct FidCq {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsCq,
}

#[repr(C)]
pub(crate) struct OpsCq {
    pub(crate) size: usize,
    pub(crate) read: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize,
    pub(crate) readfrom: Unused,
    pub(crate) readerr: unsafe extern "C" fn(*mut FidCq, *mut CqError, u64) -> isize,
    pub(crate) sread: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize, *const c_void, c_int) -> isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CqEntry {
    pub(crate) context: Unused,
    pub(crate) flags: u64,
    pub(crate) len: usize,
    pub(crate) buf: Unused,
    pub(crate) data: u64,
}

#[repr(C)]
pub(crate) struct CqError {
    pub(crate) context: Unused,
    pub(crate) flags: u64,
    pub(crate) len: usize,
    pub(crate) buf: Unused,
    pub(crate) data: u64,
    pub(crate) tag: u64,
    pub(crate) olen: usize,
    pub(crate) err: c_int,
    pub(crate) prov_errno: c_int,
    pub(crate) err_data: *mut c_void,
    pub(crate) err_data_size: usize,
}

#[cfg(test)]
#[path = "abi_test.rs"]
mod abi_test;
