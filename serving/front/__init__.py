"""What stands at the ports: sockets, who may come in, what answers where, and the page."""
