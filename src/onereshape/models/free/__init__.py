"""What `freeing` needs: sizes as formulas, how they go through each operator, and how constants grow with them."""
