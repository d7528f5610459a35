"""Faults on purpose: kills, full disks, damaged files, programs that never end.

``make faults`` runs all of them and prints a table. Every fault is real: processes are
killed by signals, disks are small file systems in memory, files are cut and changed.
"""
