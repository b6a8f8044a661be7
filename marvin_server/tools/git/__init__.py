"""Look at the state and the history of the git repository."""
