#!/usr/bin/env bash
# Installs Chromium for the browser tests where no browser is found: with apt for root on Debian and
# Ubuntu, else by playwright for the user alone.
set -euo pipefail
cd "$(dirname "$0")/.."

for browser in chromium chromium-browser google-chrome; do
  if command -v "$browser" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  "${PYTHON:-.venv/bin/python}" -m playwright install chromium
fi
