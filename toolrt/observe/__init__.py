"""What is known about calls afterwards."""
