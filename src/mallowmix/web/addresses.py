"""Whose request it is: the address that limits count by."""

import ipaddress


def counted_address(host: str | None) -> str:
    """Return what limits count a client by: an IPv4 address, or the /64 network of an IPv6 one.

    A household or a rented machine has a whole /64, so its addresses count as one.

    Examples
    --------
    >>> counted_address("203.0.113.7"), counted_address("2001:db8::1:2:3:4")
    ('203.0.113.7', '2001:db8::/64')
    >>> counted_address("::ffff:203.0.113.7")
    '203.0.113.7'
    """
    try:
        address = ipaddress.ip_address((host or "?").partition("%")[0])
    except ValueError:
        return host or "?"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
