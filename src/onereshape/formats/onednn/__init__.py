"""oneDNN graphs as files: the JSON that the library dumps and benchdnn reads; begin with `onednn_graph`."""
