"""The public functions; each module is imported when one of its functions is used."""
