#!/bin/bash
# usage: install-nvim.sh PREFIX VERSION     VERSION: 0.10 (Debian 13's) | newest (Debian unstable's, 0.12 or newer)
# Unpacks that Neovim with the libraries of its own Debian into PREFIX, and starts it by PREFIX/nvim. The system's own
# packages and sources stay as they are; no root is needed.
set -euo pipefail
prefix=$(realpath -m "$1") wanted=$2
case $wanted in
  0.10) suite=trixie pattern='^NVIM v0\.10\.' ;;
  newest) suite=sid pattern='^NVIM v(0\.(1[2-9]|[2-9][0-9])|[1-9])' ;;
  *) echo "there is 0.10 and newest, not $wanted" >&2; exit 2 ;;
esac
has() { "$prefix/nvim" --version 2>/dev/null | grep -Eq "$pattern"; }
if has; then exit 0; fi
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
[ -n "$mirror" ] || mirror=$(awk '/^deb / {print $2; exit}' /etc/apt/sources.list 2>/dev/null || true)
[ -n "$mirror" ] || mirror=http://deb.debian.org/debian
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/sources" "$prefix"
: >"$state/status"
cat >"$state/sources/debian.sources" <<S
Types: deb
URIs: $mirror
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
S
apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$state/sources"
     -o Dir::Etc::PreferencesParts=/dev/null -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache"
     -o "Dir::State::status=$state/status" -o APT::Sandbox::User= -o Acquire::Languages=none -o Debug::NoLocking=1)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends --download-only neovim patchelf
for package in "$state"/cache/archives/*.deb; do dpkg-deb -x "$package" "$prefix"; done
rm -rf "$prefix"/usr/share/{doc,man,locale}
libraries=$prefix/usr/lib/$(uname -m)-linux-gnu
loader=$(find "$prefix/usr/lib" "$prefix/usr/lib64" -name 'ld-linux-*' 2>/dev/null | head -1)
# Neovim starts itself anew for its screen, so that the loader and its libraries have to be written into the program.
"$loader" --library-path "$libraries" "$prefix/usr/bin/patchelf" \
  --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$prefix/usr/bin/nvim"
ln -sf usr/bin/nvim "$prefix/nvim"
"$prefix/nvim" --version | head -1
has || { echo "that is not Neovim $wanted" >&2; exit 1; }
