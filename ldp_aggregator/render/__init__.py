"""The style that all pages share: the results page, the pages of ldp_design and the operator's page."""
