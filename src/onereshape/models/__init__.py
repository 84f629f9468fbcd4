"""What is done to whole models: check, batching and its rules, freeing other dims, simplify, certify, fix."""
