#!/usr/bin/env bash
# Installs what is missing and runs all tests. Safe to run again; leaves nothing outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

swift format lint --strict --recursive Sources Tests Package.swift
swift test
