"""Profiles of Firefox: it connects to this machine only, and a start after a kill is like every other."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

Preferences = Mapping[str, bool | int | str]

_CONNECTIONS: Preferences = {
    # whatever is not at 127.0.0.1 goes to a proxy that does not exist; names are not resolved
    "network.proxy.type": 1,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 1,
    "network.proxy.socks_remote_dns": True,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "network.proxy.allow_hijacking_localhost": False,
    "network.proxy.failover_direct": False,
    "network.proxy.allow_bypass": False,  # else services of Firefox ask again without the proxy
    "network.dns.disabled": True,
    "network.trr.mode": 5,  # no DNS over HTTPS
    "network.dns.disablePrefetch": True,
    "network.prefetch-next": False,
    "network.http.speculative-parallel-limit": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
_SERVICES: Preferences = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.newtabpage.enabled": False,
    "browser.region.update.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.search.update": False,
    "browser.startup.page": 0,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "security.remote_settings.crlite_filters.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "data:,",
    "toolkit.telemetry.unified": False,
}
_RESTARTS: Preferences = {
    "browser.sessionstore.resume_from_crash": False,
    "toolkit.startup.max_resumed_crashes": -1,  # never offers the safe mode
}
BLOCKED_STORAGE: Preferences = {"network.cookie.cookieBehavior": 2}
"""What a person sets to block all cookies: pages have no storage."""
PRIVATE_WINDOWS: Preferences = {"browser.privatebrowsing.autostart": True}


def find_firefox() -> str:
    """Return the path of Firefox; skip the test if it is not installed."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("needs Firefox (Debian: apt-get install firefox-esr)")
    return program


def write_preferences(profile: Path, preferences: Preferences) -> None:
    """Write the preferences of a new start; `preferences` are added to those of all profiles."""
    profile.mkdir(exist_ok=True)
    everything = {**_CONNECTIONS, **_SERVICES, **_RESTARTS, **preferences}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in everything.items()]
    (profile / "user.js").write_text("".join(lines))


def environment(profile: Path) -> dict[str, str]:
    """Return the environment of a Firefox that writes to its profile only, and sends no crash reports."""
    variables = {"HOME": str(profile), "MOZ_CRASHREPORTER_DISABLE": "1"}
    variables["MOZ_REMOTE_SETTINGS_DEVTOOLS"] = "1"  # else Firefox ignores "services.settings.server"
    return os.environ | variables
