"""What leaves the house: values with their guarantee, saved, shown and handed on."""
