#!/usr/bin/env bash
# A program that forks while it trains: fork.c.
exec "$@"
