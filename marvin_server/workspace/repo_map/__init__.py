"""Which files and symbols of a workspace matter for a question, as a text of bounded size."""
