"""What a survey with waves shows. Different people answer in each, so that estimates are independent."""
