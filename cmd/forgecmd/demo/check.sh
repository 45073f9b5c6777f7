#!/bin/sh
# What must hold whatever the number says: at most 128 pages in memory.
capacity=$(sed -n 's/^capacity=//p' cache.conf)
[ "$capacity" -ge 1 ] && [ "$capacity" -le 128 ]
