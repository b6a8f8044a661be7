"""Look at the git repository and its history, commit, and change branches."""
