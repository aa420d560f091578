"""Published methods as published: reproductions whose guarantee is not proved, to measure and to attack."""
