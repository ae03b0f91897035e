"""What a lesson asks a cluster, in virtual time or over sockets, beyond what clients show."""
