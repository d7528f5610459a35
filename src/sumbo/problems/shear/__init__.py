"""Cosmic shear from a matter power spectrum: the room that its problems share.

`universe` asks CAMB for distances and power spectra, `weights` turns redshift
distributions into weights along the line of sight, `alignment` adds the intrinsic
shapes of galaxies, `limber` projects on the sky, `cosebis` filters the result, and
`fits` and `files` read and find the data.
"""
