"""How a call reaches the world: one file a kind, behind `base.Kind` and `base.Binding`."""
