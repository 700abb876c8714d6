"""One file a stage; `pipeline/gateway` holds their order."""
