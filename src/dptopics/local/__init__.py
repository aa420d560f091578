"""Collection without a trusted owner: clients randomise, the server learns from reports that are private already."""
