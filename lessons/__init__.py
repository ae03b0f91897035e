"""The lessons, a folder each: everything that belongs to one notebook alone.

Code that several lessons use is in `kit`.  No lesson imports another, and neither `engine` nor
`kit` imports a lesson; the judge loads `exercises` by name.
"""
