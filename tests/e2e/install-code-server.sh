#!/bin/bash
# usage: install-code-server.sh DIR
# Puts VS Code as code-server into DIR, which starts by DIR/node_modules/.bin/code-server, and Debian's Chromium on the system
# (by sudo where need be), which shows it. Wants npm, a C++ compiler and python3: four of its native modules are built here.
# Not built: what signs in to proxies by Kerberos, and what Windows needs. Quick when it is all there.
set -euo pipefail
version=4.100.3
mkdir -p "$1" && dir=$(cd "$1" && pwd)
if ! command -v chromium >/dev/null; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends chromium
fi
stamp="$version, built for node $(node --version)"
if [ "$(cat "$dir/installed" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
rm -rf "$dir/node_modules" "$dir/installed"
quiet=(--silent --no-audit --no-fund --ignore-scripts)
echo '{"private": true}' >"$dir/package.json"
npm install "${quiet[@]}" --no-save --prefix "$dir" "code-server@$version"
server=$dir/node_modules/code-server/lib/vscode
(cd "$server" && npm install "${quiet[@]}" --omit=dev)

npm_home=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
node_home=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
headers=(); [ ! -d "$node_home/include/node" ] || headers=("--nodedir=$node_home")
build() { # FOLDER [ARGUMENT...]: ARGUMENTs are node-gyp's
  local folder=$1 log=$dir/build.log
  shift
  (cd "$folder" && node "$npm_home/node_modules/node-gyp/bin/node-gyp.js" rebuild -j max "${headers[@]}" "$@") >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; echo "$folder could not be built; all of it is in $log" >&2; exit 1; }
}
for module in node-pty @vscode/spdlog native-watchdog; do build "$server/node_modules/$module"; done
argon2=$dir/node_modules/argon2
build "$argon2" -- -Dmodule_name=argon2 -Dmodule_path="$argon2/lib/binding/napi-v3" -Dnapi_build_version=3

# What the package's own script links after the installation.
ln -sfn node_modules "$server/node_modules.asar"
ln -sf code-linux.sh "$server/bin/remote-cli/code-server"
ln -sf browser-linux.sh "$server/bin/helpers/browser.sh"
if command -v rg >/dev/null; then
  mkdir -p "$server/node_modules/@vscode/ripgrep/bin"
  ln -sf "$(command -v rg)" "$server/node_modules/@vscode/ripgrep/bin/rg"
fi
CODE_SERVER_CONFIG=/dev/null "$dir/node_modules/.bin/code-server" --version
echo "$stamp" >"$dir/installed"
