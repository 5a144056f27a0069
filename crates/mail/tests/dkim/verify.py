"""Verifies every signature of the vectors with dkimpy, and that each breaks when the message is changed."""

import base64
import pathlib
import subprocess
import sys

import dkim

here = pathlib.Path(__file__).parent


def public(pem):
    der = subprocess.run(
        ["openssl", "pkey", "-in", here / pem, "-pubout", "-outform", "DER"], check=True, capture_output=True
    ).stdout
    return der


RECORDS = {
    b"rsa._domainkey.example.org.": b"v=DKIM1; k=rsa; p=" + base64.b64encode(public("rsa.pem")),
    b"ed._domainkey.example.org.": b"v=DKIM1; k=ed25519; p=" + base64.b64encode(public("ed25519.pem")[-32:]),
}


def dns(name, timeout=5):
    return RECORDS.get(name)


def verifies(message, index):
    try:
        return dkim.DKIM(message, minkey=1024).verify(idx=index, dnsfunc=dns)
    except dkim.DKIMException as error:
        print("  ", error)
        return False


wrong = 0
files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(here.glob("*.eml"))
for file in files:
    message = file.read_bytes()
    signatures = message.split(b"\r\n\r\n")[0].lower().count(b"dkim-signature:")
    fine = signatures == 2 and all(verifies(message, index) for index in range(signatures))
    forged = message.replace(b"Subject: ", b"Subject: Re: ", 1)
    fine = fine and not any(verifies(forged, index) for index in range(signatures))
    forged = message + b"more\r\n"
    fine = fine and not any(verifies(forged, index) for index in range(signatures))
    wrong += not fine
    print("ok   " if fine else "WRONG", file.name)
sys.exit(1 if wrong or not files else 0)
