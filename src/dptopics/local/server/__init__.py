"""The collector: an HTTP server that takes in randomised reports, and the stores that keep them."""
