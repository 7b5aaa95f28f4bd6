#!/usr/bin/env bash
# Installs Java for Spark where there is none: with apt, for root on Debian and Ubuntu.
set -euo pipefail

if command -v java >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "install Java 17 or newer, which Spark needs." >&2
  exit 1
fi
apt-get update -qq
for version in 21 17; do
  package="openjdk-$version-jre-headless"
  if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
    exit 0
  fi
done
echo "there is no package of Java 17 or 21; install one, which Spark needs." >&2
exit 1
