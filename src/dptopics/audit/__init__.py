"""The owner's door: attacks and measurements on the raw data, uncharged. Everything here is NOT FOR RELEASE."""
