"""Other programs' models into model folders."""
