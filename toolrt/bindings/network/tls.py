"""TLS contexts from the PEM files that a target names."""

import ssl

from toolrt.bindings.network.messages import TlsFiles
from toolrt.core.errors import BindingError


def open_tls(files: TlsFiles) -> ssl.SSLContext:
    """A verifying client context. Raises BindingError for files that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=files.ca)
        if files.cert:
            context.load_cert_chain(files.cert, files.key)
    except OSError:
        raise BindingError(
            "the TLS files of this service cannot be used",
            sent="never",
            hint="`tls` of its target names PEM files that can be read",
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    return context
