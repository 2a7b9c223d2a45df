"""Bodies, joints, interactions, screws, rolling, Pfaffian forms."""
