//! A network device whose other end is this program (Linux, `tun`): what is sent to it is read here, a packet at a time, and back.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `TUNSETIFF`: gives a descriptor of `/dev/net/tun` its device.
const SET_DEVICE: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;

/// Makes the device in the network namespace of the calling thread. It goes with the descriptor. Reads do not wait.
pub(super) fn device(name: &str) -> io::Result<File> {
    let tun = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: all zeros are a request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()).take(libc::IFNAMSIZ - 1) {
        *to = from as libc::c_char;
    }
    // Packets as they are, without a header of the device's.
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the call reads and writes the request, which is of the type it expects.
    if unsafe { libc::ioctl(tun.as_raw_fd(), SET_DEVICE, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    rustix::io::ioctl_fionbio(&tun, true)?;
    Ok(tun)
}
