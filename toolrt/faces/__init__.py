"""The doors people and programs come by; faces translate, they decide nothing."""
