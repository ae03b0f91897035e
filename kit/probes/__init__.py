"""Lets a lesson ask a cluster for what client libraries hide.

`requests` makes requests by hand and reads answers, `messages` puts a message into words.
`virtual` and `one_partition` ask a world, `clients` a live cluster, `raw_client` one broker
over one connection.  `registration` asks a controller as one more broker would, and `newcomers`
starts one.  `background_load` writes beside a cell; `scripted_broker` answers a client from a
script.
"""
