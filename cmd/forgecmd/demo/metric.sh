#!/bin/sh
# What a request costs on average, lower is better.
exec awk -f simulate.awk cache.conf
