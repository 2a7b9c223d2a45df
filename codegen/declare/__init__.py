"""What the user says, as data: `Declaration`, its contacts and events, and its checks."""
