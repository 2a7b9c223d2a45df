"""What a run gives: `Solution`, its events, series, audit and plots."""
