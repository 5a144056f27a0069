"""An SMTP server for tests: journals what it accepts, and misbehaves when a recipient's address asks for it.

The local part of a recipient scripts the answer, so that any number of tests share one server:

    rcpt-550-…@    RCPT is answered with 550 (any code; 4xx works too); rcpt-550=5.2.1-…@ with this enhanced code
    data-554-…@    the message is answered with 554 after the final dot, and not journaled
    once-451-…@    RCPT is answered with 451 the first time this address is seen, then accepted
    hangup-…@      the message is journaled, then the connection is closed without an answer
    lost-…@        the connection is closed without an answer, and the message is not journaled
    slow-2.5-…@    the answer after the final dot comes 2.5 s later

Runs in its own folder: journal.jsonl, and with TLS key.pem and certificate.pem, are there.
"""

import argparse
import asyncio
import email.parser
import email.policy
import json
import ssl
import time

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

DELAYS = {"421": "4.3.2", "450": "4.2.1", "451": "4.7.1", "452": "4.2.2", "454": "4.7.0"}
REFUSALS = {"530": "5.7.0", "535": "5.7.8", "550": "5.1.1", "552": "5.2.2", "553": "5.1.3", "554": "5.7.1"}


def answer(code):
    code, _, enhanced = code.partition("=")
    enhanced = enhanced or {**DELAYS, **REFUSALS}.get(code, f"{code[0]}.0.0")
    return f"{code} {enhanced} as the address asked"


def script_of(address):
    """('rcpt', '550') of rcpt-550-anything@example.org; ('', '') of a plain address."""
    words = address.partition("@")[0].split("-")
    if words[0] in ("rcpt", "data", "once", "slow") and len(words) > 2:
        return words[0], words[1]
    if words[0] in ("hangup", "lost") and len(words) > 1:
        return words[0], ""
    return "", ""


class Journal:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def write(self, session, envelope):
        content = envelope.original_content or b""
        headers = email.parser.BytesHeaderParser(policy=email.policy.compat32).parsebytes(content)
        line = {
            "at": time.time(),
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "message_id": str(headers.get("Message-ID", "")).strip(),
            "subject": str(headers.get("Subject", "")),
            "size": len(content),
            "session": f"{session.peer[0]}:{session.peer[1]}",
        }
        self.file.write(json.dumps(line) + "\n")
        # Out of this process before the answer goes out: a client that reads a 250 finds the line.
        self.file.flush()


class Handler:
    def __init__(self, journal, greylist):
        self.journal = journal
        self.greylist = greylist
        self.first_seen = {}
        self.seen_once = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        verb, code = script_of(address)
        if verb == "rcpt":
            return answer(code)
        if verb == "once" and address not in self.seen_once:
            self.seen_once.add(address)
            return answer(code)
        if self.greylist is not None:
            first = self.first_seen.setdefault((envelope.mail_from, address), time.monotonic())
            if time.monotonic() - first < self.greylist:
                return "451 4.7.1 greylisted, come back later"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 recipient accepted"

    async def handle_DATA(self, server, session, envelope):
        for address in envelope.rcpt_tos:
            verb, argument = script_of(address)
            if verb == "data":
                return answer(argument)
            if verb == "lost":
                return await self.close(server)
            if verb == "hangup":
                self.journal.write(session, envelope)
                return await self.close(server)
            if verb == "slow":
                await asyncio.sleep(float(argument))
        self.journal.write(session, envelope)
        return "250 2.0.0 accepted"

    async def close(self, server):
        server.transport.abort()
        # What would have been the answer goes nowhere: the transport is gone.
        return "421 4.3.2 closed"


def authenticator(login):
    user, _, password = login.partition(":")

    def check(server, session, envelope, mechanism, auth_data):
        right = isinstance(auth_data, LoginPassword) and auth_data == LoginPassword(user.encode(), password.encode())
        return AuthResult(success=right, handled=False)

    return check


def tls_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("certificate.pem", "key.pem")
    return context


async def serve(arguments):
    handler = Handler(Journal("journal.jsonl"), arguments.greylist)
    options = {"hostname": arguments.hostname, "enable_SMTPUTF8": True, "ident": "test server"}
    if arguments.tls == "starttls":
        options["tls_context"] = tls_context()
    if arguments.login:
        options["authenticator"] = authenticator(arguments.login)
        options["auth_required"] = True
        # With implicit TLS the session is encrypted from its first byte, which aiosmtpd does not notice.
        options["auth_require_tls"] = arguments.tls == "starttls"
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(handler, **options),
        host="127.0.0.1",
        port=arguments.port,
        backlog=500,
        ssl=tls_context() if arguments.tls == "implicit" else None,
    )
    # Named after us, so that who waits for it knows that it is we who have the port.
    open(arguments.hostname, "w").close()
    await server.serve_forever()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--hostname", required=True)
    parser.add_argument("--tls", choices=["starttls", "implicit"])
    parser.add_argument("--login", metavar="USER:PASSWORD")
    parser.add_argument("--greylist", type=float, metavar="SECONDS")
    asyncio.run(serve(parser.parse_args()))


main()
