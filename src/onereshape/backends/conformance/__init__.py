"""The case table, put to the engines that are installed, and what they answered beside what the specifications say.

Door: case_table, engines, page, record, report, result.
"""
