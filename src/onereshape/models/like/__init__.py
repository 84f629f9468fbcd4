"""What two or more exports of one model say of its sizes: where they differ, and by which formula."""
