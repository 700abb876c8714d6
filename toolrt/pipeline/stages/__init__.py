"""One file a stage; `pipeline/plan` holds their order."""
