//! The declarations are those of the headers, where there are headers.

use super::*;
use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;

/// Offsets here, and the same in C.
macro_rules! offsets {
    ($($ours:ident $theirs:literal { $($member:ident $name:literal),* $(,)? })*) => {
        vec![$($((concat!($theirs, ".", $name), $theirs, $name, offset_of!($ours, $member)),)*)*]
    };
}

#[test]
fn the_declarations_are_those_of_the_headers() {
    if !std::path::Path::new("/usr/include/rdma/fabric.h").exists() {
        eprintln!("skipped: no headers of libfabric (Debian: libfabric-dev)");
        return;
    }
    let offsets = offsets! {
        Info "struct fi_info" { caps "caps", mode "mode", src_addr "src_addr", dest_addr "dest_addr", handle "handle",
            tx_attr "tx_attr", ep_attr "ep_attr", domain_attr "domain_attr", fabric_attr "fabric_attr", nic "nic" }
        TxAttr "struct fi_tx_attr" { msg_order "msg_order", inject_size "inject_size", size "size" }
        EpAttr "struct fi_ep_attr" { kind "type", max_msg_size "max_msg_size", max_order_waw_size "max_order_waw_size" }
        DomainAttr "struct fi_domain_attr" { name "name", threading "threading", mr_mode "mr_mode", mr_key_size "mr_key_size",
            cq_data_size "cq_data_size" }
        FabricAttr "struct fi_fabric_attr" { prov_name "prov_name", api_version "api_version" }
        Fid "struct fid" { ops "ops" }
        Ops "struct fi_ops" { close "close", bind "bind", control "control" }
        FidFabric "struct fid_fabric" { ops "ops" }
        OpsFabric "struct fi_ops_fabric" { domain "domain", passive_ep "passive_ep", eq_open "eq_open" }
        FidDomain "struct fid_domain" { ops "ops", mr "mr" }
        AvAttr "struct fi_av_attr" { count "count", flags "flags" }
        FidAv "struct fid_av" { ops "ops" }
        OpsAv "struct fi_ops_av" { insert "insert" }
        OpsDomain "struct fi_ops_domain" { av_open "av_open", cq_open "cq_open", endpoint "endpoint" }
        OpsMr "struct fi_ops_mr" { reg "reg" }
        FidMr "struct fid_mr" { desc "mem_desc", key "key" }
        FidPep "struct fid_pep" { cm "cm" }
        FidEp "struct fid_ep" { cm "cm", msg "msg", rma "rma" }
        OpsCm "struct fi_ops_cm" { getname "getname", connect "connect", listen "listen", accept "accept", reject "reject",
            shutdown "shutdown" }
        OpsMsg "struct fi_ops_msg" { recv "recv", inject "inject" }
        OpsRma "struct fi_ops_rma" { inject "inject", writedata "writedata" }
        EqAttr "struct fi_eq_attr" { wait "wait_obj", set "wait_set" }
        FidEq "struct fid_eq" { ops "ops" }
        OpsEq "struct fi_ops_eq" { read "read", readerr "readerr", sread "sread" }
        EqError "struct fi_eq_err_entry" { err "err", err_data_size "err_data_size" }
        EqEntry "struct fi_eq_cm_entry" { info "info", data "data" }
        CqAttr "struct fi_cq_attr" { size "size", format "format", wait "wait_obj", cond "wait_cond", set "wait_set" }
        FidCq "struct fid_cq" { ops "ops" }
        OpsCq "struct fi_ops_cq" { read "read", readerr "readerr", sread "sread" }
        CqEntry "struct fi_cq_data_entry" { flags "flags", len "len", data "data" }
        CqError "struct fi_cq_err_entry" { err "err", err_data_size "err_data_size" }
    };
    let values: &[(&str, u64)] = &[
        ("FI_MSG", MSG),
        ("FI_RMA", RMA),
        ("FI_WRITE", WRITE),
        ("FI_RECV", RECV),
        ("FI_SEND", SEND),
        ("FI_REMOTE_WRITE", REMOTE_WRITE),
        ("FI_REMOTE_CQ_DATA", REMOTE_CQ_DATA),
        ("FI_NUMERICHOST", NUMERICHOST),
        ("FI_SOURCE", SOURCE),
        ("FI_ORDER_WAW", ORDER_WAW),
        ("FI_MR_LOCAL", MR_LOCAL as u64),
        ("FI_MR_VIRT_ADDR", MR_VIRT_ADDR as u64),
        ("FI_MR_ALLOCATED", MR_ALLOCATED as u64),
        ("FI_MR_PROV_KEY", MR_PROV_KEY as u64),
        ("FI_RX_CQ_DATA", RX_CQ_DATA),
        ("FI_EP_MSG", EP_MSG as u64),
        ("FI_EP_RDM", EP_RDM as u64),
        ("FI_AV_TABLE", AV_TABLE as u64),
        ("FI_WAIT_NONE", WAIT_NONE as u64),
        ("sizeof(struct fi_av_attr)", size_of::<AvAttr>() as u64),
        ("FI_THREAD_DOMAIN", THREAD_DOMAIN as u64),
        ("FI_CQ_FORMAT_DATA", CQ_FORMAT_DATA as u64),
        ("FI_WAIT_UNSPEC", WAIT_UNSPEC as u64),
        ("FI_ENABLE", ENABLE as u64),
        ("FI_CONNREQ", u64::from(CONNREQ)),
        ("FI_CONNECTED", u64::from(CONNECTED)),
        ("FI_SHUTDOWN", u64::from(SHUTDOWN)),
        ("FI_EAVAIL", EAVAIL as u64),
        ("sizeof(struct fi_eq_attr)", size_of::<EqAttr>() as u64),
        ("sizeof(struct fi_cq_attr)", size_of::<CqAttr>() as u64),
        ("sizeof(struct fi_cq_data_entry)", size_of::<CqEntry>() as u64),
    ];
    let mut program = String::from("#include <stddef.h>\n#include <rdma/fabric.h>\n");
    for header in ["endpoint", "domain", "eq", "cm", "rma"] {
        writeln!(program, "#include <rdma/fi_{header}.h>").unwrap();
    }
    for (what, of, member, offset) in &offsets {
        writeln!(program, "_Static_assert(offsetof({of}, {member}) == {offset}, \"{what}\");").unwrap();
    }
    for (name, value) in values {
        writeln!(program, "_Static_assert({name} == {value}ULL, \"{name}\");").unwrap();
    }
    // What grew later must not be shorter: these the library may fill to their ends.
    for (name, size) in [("fi_cq_err_entry", size_of::<CqError>()), ("fi_eq_err_entry", size_of::<EqError>())] {
        writeln!(program, "_Static_assert(sizeof(struct {name}) >= {size}, \"{name}\");").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("abi.c");
    std::fs::write(&source, program).unwrap();
    let compiler = match Command::new("gcc").arg("-fsyntax-only").arg(&source).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: gcc: {error}"),
    };
    assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
}
