"""Faults on the projector: the Cluster panel in large type, one scene at a time, with a remote.

scenes   what a scene begins with: a topic, a load, a question to the room
stage    a real cluster, the real panel over it, the scene that is on
server   the projector's page and the remote's, over HTTP
"""
