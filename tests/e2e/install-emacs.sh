#!/bin/bash
# usage: install-emacs.sh PREFIX [VERSION]
# Puts Emacs 30 from Debian 12's backports, or 28 from Debian 12 itself, into PREFIX, with package-lint, lsp-mode and the
# libraries that the system lacks, and starts it by PREFIX/emacs. The system's own packages and sources stay as they are; no root is needed.
set -euo pipefail
mkdir -p "$1"
prefix=$(cd "$1" && pwd) wanted=${2:-30}
case $wanted in 30) suite=bookworm-backports ;; 28) suite=bookworm ;; *) echo "there is 28 and 30, not $wanted" >&2; exit 2 ;; esac
if "$prefix/emacs" --version 2>/dev/null | grep -q "^GNU Emacs $wanted" &&
  [ -n "$(find "$prefix/usr/share/emacs/site-lisp/elpa-src" -maxdepth 1 -name 'lsp-mode-*' 2>/dev/null)" ]; then exit 0; fi
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
[ -n "$mirror" ] || mirror=$(awk '/^deb / {print $2; exit}' /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || mirror=http://deb.debian.org/debian
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/sources"
cat >"$state/sources/debian.sources" <<S
Types: deb
URIs: $mirror
Suites: bookworm bookworm-backports
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
S
apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$state/sources"
     -o Dir::Etc::PreferencesParts=/dev/null -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache"
     -o APT::Sandbox::User= -o Acquire::Languages=none -o Debug::NoLocking=1)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends --download-only -t $suite emacs-nox elpa-package-lint elpa-lsp-mode
for package in "$state"/cache/archives/*.deb; do dpkg-deb -x "$package" "$prefix"; done
version=$(basename "$prefix"/usr/share/emacs/[0-9]*)
libraries=$prefix/usr/lib/$(uname -m)-linux-gnu
programs=$(echo "$prefix"/usr/libexec/emacs/"$version"/*)
dump=$(echo "$programs"/emacs*.pdmp)
cat >"$prefix/emacs" <<S
#!/bin/sh
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export EMACSLOADPATH="$prefix/usr/share/emacs/$version/lisp" EMACSDATA="$prefix/usr/share/emacs/$version/etc"
export EMACSPATH="$programs"
exec "$prefix/usr/bin/emacs-nox" --dump-file="$dump" "\$@"
S
chmod +x "$prefix/emacs"
"$prefix/emacs" --version | head -1
