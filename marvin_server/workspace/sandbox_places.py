"""Where a machine keeps what no command needs to read: keys, logins, browsers' profiles, sockets of services."""

import os
import pwd
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_HOMES = Path("/home")
_MOST_HOMES = 64
_OF_A_HOME = (
    *(".ssh", ".gnupg", ".netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials"),
    *(".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".config/doctl", ".config/hcloud", ".fly", ".oci"),
    *(".kube", ".docker", ".config/containers", ".colima", ".lima", ".rd", ".orbstack", ".config/rclone"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".terraform.d", ".terraformrc", ".vault-token", ".pulumi"),
    *(".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".cargo/credentials", ".gem/credentials"),
    *(".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties"),
    *(".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet", ".config/netlify", ".wrangler"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".databrickscfg", ".snowflake", ".kaggle", ".cache/huggingface/token"),
    *(".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/op", ".1password", ".bitwarden"),
    *(".config/Bitwarden", ".config/keepassxc", ".config/sops", ".config/age", ".subversion/auth", ".Xauthority"),
    *(".config/marvin", ".config/local-finder", ".config/github-copilot", ".copilot", ".claude.json", ".claude"),
    *(".codex", ".gemini", ".config/opencode", ".local/share/opencode", ".config/anthropic"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".var/app", "snap/firefox", "snap/chromium"),
    *(".config/Signal", ".config/Slack", ".config/discord", ".local/share/TelegramDesktop", ".purple", ".weechat"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history"),
    *(".local/share/fish/fish_history", ".emacs.d/server", ".config/emacs/server", ".vnc"),
    *("Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/Mail"),
    *("Library/Application Support/Firefox", "Library/Application Support/com.apple.TCC", "Library/Messages"),
    *("Library/Safari", "Library/Group Containers", "Library/Containers"),
)
_OF_THE_MACHINE = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/krb5.keytab"),
    *("/etc/NetworkManager/system-connections", "/etc/wireguard", "/var/lib/docker", "/var/lib/containerd"),
    *("/var/snap/lxd/common/lxd/unix.socket", "/var/lib/incus/unix.socket", "/var/lib/kubelet", "/etc/rancher"),
)
_RUNTIME_NEEDS = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
_NAME_SERVERS = "/etc/resolv.conf"
_HOST_KEYS = ("/etc/ssh", "ssh_host_*_key")
_PATH_IN_VALUE = re.compile(r"/[^,;]*")


def secret_places(environ: Mapping[str, str]) -> Iterator[str]:
    """The real paths of what is there of keys, logins and sockets, in every home that may hold some."""
    homes = {Path(home) for home in (environ.get("HOME", ""), _own_home()) if home.startswith("/")}
    if os.geteuid() == 0:
        with suppress(OSError):
            homes.update(sorted(_HOMES.iterdir())[:_MOST_HOMES])
    folder, pattern = _HOST_KEYS
    with suppress(OSError):
        yield from map(os.path.realpath, Path(folder).glob(pattern))
    for place in (*_OF_THE_MACHINE, *(f"{home}/{name}" for home in homes for name in _OF_A_HOME)):
        if os.path.lexists(place):
            yield os.path.realpath(place)


def runtime_needs() -> list[str]:
    """What is there in /run that programs need to find others and the name servers; all else in it may be hidden."""
    servers = os.path.realpath(_NAME_SERVERS)
    places = [*_RUNTIME_NEEDS, *([servers] if servers.startswith("/run/") else [])]
    return [place for place in places if Path(place).exists()]


def sockets(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that name a socket (an agent's, a bus's, an editor's), with the socket's path."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        for path in _PATH_IN_VALUE.findall(value):
            with suppress(OSError, ValueError):
                if stat.S_ISSOCK(Path(path).stat().st_mode):
                    found[name] = os.path.realpath(path)
    return found


def _own_home() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""
