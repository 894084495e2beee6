#!/usr/bin/env bash
# Installs the database servers through apt when they are missing. Services of
# the installed packages are not started.
# RELPLAN_ENGINES=embedded does without.
set -euo pipefail

[ "${RELPLAN_ENGINES:-}" = embedded ] && exit 0

missing=()
have() { command -v "$1" >/dev/null 2>&1 || compgen -G "$2" >/dev/null; }
have initdb '/usr/lib/postgresql/*/bin/initdb' || missing+=(postgresql)
have mariadbd '/usr/sbin/mariadbd' || missing+=(mariadb-server)
have redis-server '/usr/bin/redis-server' || missing+=(redis-server)
[ ${#missing[@]} -eq 0 ] && exit 0

line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "the tests need ${missing[*]}; install them with:" >&2
  echo "  sudo sh -c '$line'" >&2
  echo "or run without them: make test-embedded" >&2
  exit 1
fi

# A package must neither start its service nor create a cluster.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "installed ${missing[*]}"
