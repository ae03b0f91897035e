"""The course as archives to hand out: `make release`.

sealed     a solution that is there and does not meet the eye
editions   which files each edition has, and what is in them
archive    the commit's files in, zip archives out; the same commit gives the same bytes
"""
