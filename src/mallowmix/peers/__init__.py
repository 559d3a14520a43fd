"""Other systems for the same data, one file each, behind one interface (`peers.interface`): what M4 is measured against."""
