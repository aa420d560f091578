"""DeCarolis et al. 2020 as published."""
