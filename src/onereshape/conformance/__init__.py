"""The case table, put to the engines that are installed, and what they answered beside what the specifications say."""
