"""What is published: values with their guarantee, saved, displayed and exported."""
