"""What `mallowmix serve` warns of before it begins."""

import warnings
from typing import Any

from mallowmix.errors import MallowmixWarning, Option


def note_proposals(settings: Any) -> None:
    """Warn where proposals would wait for an admin whom nobody can be."""
    if settings.propose and settings.admin_token is None:
        warnings.warn(
            MallowmixWarning(
                "Proposals wait until an admin lets them in, and there is none: give ",
                Option("admin_token"),
                ", or MALLOWMIX_ADMIN_TOKEN in the environment, and open /admin.",
            ),
            stacklevel=2,
        )


def note_exposure(host: str, settings: Any) -> None:
    """Warn where visitors from outside would come without TLS, or would all look the same."""
    from mallowmix.web.settings import LOOPBACK

    if settings.public_url is None and host not in LOOPBACK:
        warnings.warn(
            MallowmixWarning(
                "Whoever reaches ",
                Option("host", host),
                " can read along: there is no TLS, and any host name is answered. Put a server "
                "with TLS before this one, and give ",
                Option("public_url"),
                " and ",
                Option("trusted_proxy"),
                ".",
            ),
            stacklevel=2,
        )
    if settings.public_url is not None and not settings.trusted_proxies:
        warnings.warn(
            MallowmixWarning(
                "All visitors who come through a proxy count as one address: give the proxy's "
                "address with ",
                Option("trusted_proxy"),
                ".",
            ),
            stacklevel=2,
        )
