"""Tools that come with toolrt, for manifests to name; they know `core` and `expressions` alone."""
