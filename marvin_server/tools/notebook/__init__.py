"""Read and change the person's own notes in ~/Notes."""
