"""The methods, a thin file for each group: they read the params, call the core and give the dialect's JSON."""
