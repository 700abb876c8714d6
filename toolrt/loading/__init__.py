"""Files to manifests, with the place of everything that is wrong."""
