"""Addresses of surveys at relays, which every reader of plans must take or refuse alike."""

from __future__ import annotations

GOOD = """
https://relay.example/s
https://relay.example:443/s
https://relay.example:65535/s
https://a-b.c1.relay.example/night-work-2
https://xn--bcher-kva.example/s
https://relay/s
https://192.0.2.1/s
https://255.249.199.0:1/s
http://localhost/s
http://localhost:9/s
http://127.0.0.1:8100/s
http://127.255.9.1/s
"""
BAD = """
relay.example/s
ftp://relay.example/s
HTTPS://relay.example/s
http://relay.example/s
http://127.0.0.1.relay.example/s
http://localhost./s
http://LOCALHOST/s
http://127.1/s
http://127.0.0.01/s
http://127.999.1.1/s
http://0x7f.1/s
http://2130706433/s
http://[::1]/s
https://[::1]/s
https://127.1/s
https://256.1.1.1/s
https://1.2.3.4.5/s
https://0x7f.1/s
https://relay.0x1/s
https://relay.7/s
https://Relay.example/s
https://relay.example./s
https://relay..example/s
https://./s
https://-/s
https://-relay.example/s
https://relay-.example/s
https://relay_1.example/s
https://bücher.example/s
https://relay.example:/s
https://relay.example:0/s
https://relay.example:08/s
https://relay.example:-1/s
https://relay.example:65536/s
https://relay.example:443:443/s
https://:443/s
https:///s
https://user@relay.example/s
https://user:word@relay.example/s
https://relay.example
https://relay.example/
https://relay.example/s/
https://relay.example/x/s
https://relay.example//s
https://relay.example/S
https://relay.example/-s
https://relay.example/s?x
https://relay.example/s#x
https://relay.example\\s
"""
LONGEST = 255


def addresses() -> dict[str, list[str]]:
    labels = ".".join(["a" * 63] * 3)
    longest = f"https://{labels}.{'b' * (LONGEST - len(labels) - 11)}/s"
    spaced = [" https://relay.example/s", "https://relay.example/s\n", "https://relay.ex\tample/s", ""]
    long = [
        f"https://{'a' * 64}.example/s",
        longest.replace("/s", "/ss"),
        f"https://relay.example/{'s' * 65}",
    ]
    wide_digits = "https://relay.example:\uff14\uff14\uff13/s"
    return {"good": [*GOOD.split(), longest], "bad": [*BAD.split(), *spaced, *long, wide_digits]}
