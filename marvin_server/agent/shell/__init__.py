"""What a bash command would run, known before it runs."""
