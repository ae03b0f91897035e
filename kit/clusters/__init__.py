"""Clusters that a notebook can run on: engine, local, docker, remote, zookeeper: one interface."""
