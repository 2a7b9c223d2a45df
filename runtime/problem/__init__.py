"""What a run is given: options, inputs, events, the start, and whether it is consistent."""
