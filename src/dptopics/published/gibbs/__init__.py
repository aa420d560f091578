"""The baseline of Zhao et al. 2019."""
