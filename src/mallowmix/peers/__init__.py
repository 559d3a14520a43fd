"""Other systems for the same data, one per file, behind one interface (`peers.interface`)."""
