"""The front end of the server: sockets, access control, routing and the web page."""
