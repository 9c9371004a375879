"""What everything else is built on: masks, the time loop, products, classes found by name, files written whole."""
