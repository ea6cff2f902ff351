//! The local address that leads to another machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};

use firesteel_protocol::address::Address;

/// The address of this machine from which the first reachable peer can be reached. The loopback address if no peer can
/// be reached.
#[must_use]
pub fn local_host_for(peers: &[Address]) -> String {
    let route = |peer: &Address| {
        let target = (peer.host.as_str(), peer.port).to_socket_addrs()?.next();
        let target = target.ok_or(io::ErrorKind::NotFound)?;
        let any: IpAddr =
            if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        // Nothing is sent: the system only chooses the route.
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(target)?;
        Ok::<_, io::Error>(socket.local_addr()?.ip().to_string())
    };
    peers.iter().find_map(|peer| route(peer).ok()).unwrap_or_else(|| "127.0.0.1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_on_loopback_is_faced_from_loopback() {
        assert_eq!(local_host_for(&[Address::new("127.0.0.1", 7077)]), "127.0.0.1");
        assert_eq!(local_host_for(&[]), "127.0.0.1");
    }
}
