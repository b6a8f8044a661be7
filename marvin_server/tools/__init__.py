"""What a model may call: each tool is one file in the folder of its toolset."""
